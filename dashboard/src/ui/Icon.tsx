const paths = {
  home: 'M4 11l8-7 8 7M6 9.5V20h12V9.5M10 20v-6h4v6',
  bot: 'M5 9h14v10H5zM12 9V5M9 13.5v1M15 13.5v1M2.5 13v3M21.5 13v3M12 5a.5.5 0 100-1 .5.5 0 000 1',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  key: 'M14.5 9.5a4 4 0 10-3.4 3.95L13 15.5h2V18h2.5v2H21v-3.5l-6.6-6.1',
  webhook: 'M9 8a3 3 0 115 2.2l3 5.3M12 8l-4 7M6.5 13A3 3 0 109 18h7.5M18.5 15.2a3 3 0 11-2.6 4.3',
  user: 'M12 12a4 4 0 100-8 4 4 0 000 8zM4.5 20.5c1-4 4-5.5 7.5-5.5s6.5 1.5 7.5 5.5',
  operator: 'M12 3l8 3v6c0 4.5-3.3 7.7-8 9-4.7-1.3-8-4.5-8-9V6zM9 12l2.2 2.2L15.5 10',
  list: 'M4 6h16M4 12h16M4 18h10',
  docs: 'M6 3h9l4 4v14H6zM14 3v5h5M9 13h7M9 17h5',
  plus: 'M12 5v14M5 12h14',
  play: 'M7 4.5v15l12-7.5z',
  stop: 'M6 6h12v12H6z',
  restart: 'M20 11a8 8 0 10-1.5 5.5M20 5v6h-6',
  deploy: 'M12 16V4M7 9l5-5 5 5M4 20h16',
  search: 'M10.5 17a6.5 6.5 0 100-13 6.5 6.5 0 000 13zM15.5 15.5L21 21',
  check: 'M5 12.5l4.5 4.5L19 7',
  cross: 'M6 6l12 12M18 6L6 18',
  warning: 'M12 4l9.5 16h-19zM12 10v4M12 17v.5',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 017 0v3',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v12M7 11l5 5 5-5M4 20h16',
  clock: 'M12 21a9 9 0 100-18 9 9 0 000 18zM12 7v5.5l3.5 2',
  sun: 'M12 16.5a4.5 4.5 0 100-9 4.5 4.5 0 000 9zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5',
  moon: 'M20 14.5A8.5 8.5 0 019.5 4a8.5 8.5 0 1010.5 10.5z',
  language: 'M12 21a9 9 0 100-18 9 9 0 000 18zM3 12h18M12 3c3 3 3.5 6 3.5 9s-.5 6-3.5 9c-3-3-3.5-6-3.5-9s.5-6 3.5-9',
  trash: 'M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13M10 11v5M14 11v5',
  more: 'M4.4 12h1.2M11.4 12h1.2M18.4 12h1.2',
  down: 'M12 5v14M6 13l6 6 6-6',
  external: 'M13 4h7v7M20 4l-9 9M18 14v6H4V6h6',
  folder: 'M3 6h6l2 3h10v10H3z',
  box: 'M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8',
} as const

export type IconName = keyof typeof paths

/** Never the only way to know something: a word stands beside it, or the button has a name. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={2}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  )
}
