interface Props {
  readonly values: readonly number[]
  /** What the top stands for; what is more touches it. */
  readonly max: number
  /** What it shows, for those who do not see it. */
  readonly label: string
  readonly width?: number
  readonly height?: number
}

/** A line without axes: whether something was quiet or busy. */
export function Spark({ values, max, label, width = 96, height = 24 }: Props) {
  const step = width / Math.max(1, values.length - 1)
  const y = (value: number) => height - 1 - (Math.min(value, max) / max) * (height - 2)
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${y(value).toFixed(1)}`)
  if (values.length < 2) return null
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      style={{ width: '100%', maxWidth: width, height, display: 'block' }}
    >
      <polygon points={`0,${height} ${points.join(' ')} ${width},${height}`} fill="var(--link)" opacity={0.15} />
      <polyline
        points={points.join(' ')}
        fill="none"
        stroke="var(--link)"
        strokeWidth={1.5}
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  )
}
