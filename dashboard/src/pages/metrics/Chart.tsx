import 'uplot/dist/uPlot.min.css'
import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import { useLanguage, useTexts } from '../../texts/texts.ts'

interface Line {
  readonly label: string
  readonly values: readonly (number | null)[]
  readonly isLimit?: boolean
}

interface Props {
  readonly title: string
  readonly times: readonly number[]
  /** How far back the chart goes, from now. */
  readonly seconds: number
  readonly lines: readonly Line[]
  /** Moments to mark, in seconds. */
  readonly marks: readonly Mark[]
}

interface Mark {
  readonly time: number
  readonly isBad: boolean
}

const heightPx = 200
const daySeconds = 86_400
const hourFormat = { hour: 'numeric', minute: '2-digit' } as const
const dayFormat = { month: 'numeric', day: 'numeric', hour: 'numeric' } as const

/** The only place that knows the library which draws. */
export function Chart({ title, times, seconds, lines, marks }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme()
  const t = useTexts()
  const { language } = useLanguage()
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const style = getComputedStyle(element)
    const colors = ['--link', '--good'].map((name) => colorOf(element, name))
    const axis = { stroke: style.color, grid: { stroke: colorOf(element, '--line'), width: 1 } }
    const clock = new Intl.DateTimeFormat(language, seconds > daySeconds ? dayFormat : hourFormat)
    const tell = (time: number) => clock.format(time * 1000)
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height: heightPx,
        scales: {
          x: { range: () => [Date.now() / 1000 - seconds, Date.now() / 1000] },
          y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.05 : 1] },
        },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map(tell) },
          { ...axis, size: 60 },
        ],
        hooks: { draw: [(plot) => drawMarks(plot, marks, [colorOf(element, '--good'), colorOf(element, '--bad')])] },
        series: [
          { label: t.metrics.time, value: (_, time: number | null) => (time === null ? '–' : tell(time)) },
          ...lines.map(({ label, isLimit }, index) => ({
            label,
            stroke: isLimit ? colorOf(element, '--bad') : (colors[index] ?? style.color),
            width: isLimit ? 1 : 2,
            ...(isLimit && { dash: [6, 4] }),
            points: { show: !isLimit && times.length < 3 },
          })),
        ],
      },
      [[...times], ...lines.map(({ values }) => [...values])] as UPlot.AlignedData,
      element,
    )
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: heightPx }))
    resize.observe(element)
    return () => {
      resize.disconnect()
      plot.destroy()
    }
    // What is drawn keeps its colours: it is drawn anew in others.
  }, [times, lines, seconds, marks, scheme, language, t])
  return <div ref={box} className="chart" role="img" aria-label={title} />
}

function drawMarks(plot: UPlot, marks: readonly Mark[], [good = '', bad = '']: readonly string[]): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.setLineDash([3, 3])
  for (const { time, isBad } of marks) {
    const x = Math.round(plot.valToPos(time, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.strokeStyle = isBad ? bad : good
    ctx.fillStyle = ctx.strokeStyle
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    // Not by colour alone: a cross for what went wrong, an arrow up for what was deployed.
    ctx.font = `${12 * devicePixelRatio}px sans-serif`
    ctx.textAlign = 'center'
    ctx.fillText(isBad ? '✕' : '▲', x, bbox.top + 12 * devicePixelRatio)
  }
  ctx.restore()
}

/** As the browser has worked it out: what draws knows nothing of light and dark. */
function colorOf(element: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
