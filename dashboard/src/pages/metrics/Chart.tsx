import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'

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
}

const heightPx = 200

/** The only place that knows the library which draws. */
export function Chart({ title, times, seconds, lines }: Props) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const style = getComputedStyle(element)
    const colors = ['--link', '--good'].map((name) => colorOf(element, name))
    const axis = { stroke: style.color, grid: { stroke: colorOf(element, '--line'), width: 1 } }
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height: heightPx,
        scales: {
          x: { range: () => [Date.now() / 1000 - seconds, Date.now() / 1000] },
          y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.05 : 1] },
        },
        axes: [axis, { ...axis, size: 60 }],
        series: [
          {},
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
  }, [times, lines, seconds])
  return <div ref={box} className="chart" role="img" aria-label={title} />
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
