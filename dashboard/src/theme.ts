import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

const accent: MantineColorsTuple = [
  '#eaf3fc',
  '#d3e4f6',
  '#a4c8ec',
  '#71aae2',
  '#4892da',
  '#2f7dd1',
  '#2468ad',
  '#0b5cad',
  '#084a8d',
  '#06396d',
]

// Dark enough for white text at the shades that buttons are filled with.
const red: MantineColorsTuple = [
  '#fdecea',
  '#fad4d1',
  '#f3a8a2',
  '#ec7b73',
  '#e5564c',
  '#d63a30',
  '#c22f26',
  '#b3261e',
  '#951d16',
  '#77150f',
]

// A dialog is no page: its head is not the banner that screen readers lead to.
const noBanner = { header: { role: 'presentation' } }

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 6 },
  colors: { accent, red },
  defaultRadius: 'md',
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", "Apple SD Gothic Neo", "Malgun Gothic", "Noto Sans KR", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: { fontWeight: '650' },
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    Modal: { defaultProps: { centered: true, transitionProps: { duration: 120 }, attributes: noBanner } },
    Drawer: { defaultProps: { attributes: noBanner } },
    // Inside the page, so that what they hold belongs to a landmark; with nothing in them but items.
    Menu: { defaultProps: { portalProps: { target: '#content' }, withInitialFocusPlaceholder: false } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300, events: { hover: true, focus: true, touch: true } } },
  },
})

/** The shared tokens take the place of the library's own colours, some of which have too little contrast. */
export const resolver: CSSVariablesResolver = () => {
  const text = (name: string) => ({ [`--mantine-color-${name}-light-color`]: `var(--${tokens[name]})` })
  const variables = {
    '--mantine-color-body': 'var(--bg)',
    '--mantine-color-text': 'var(--text)',
    '--mantine-color-dimmed': 'var(--soft)',
    '--mantine-color-placeholder': 'var(--soft)',
    '--mantine-color-anchor': 'var(--link)',
    '--mantine-color-error': 'var(--bad)',
    '--mantine-color-default': 'var(--surface)',
    '--mantine-color-default-hover': 'var(--raised)',
    '--mantine-color-default-color': 'var(--text)',
    '--mantine-color-default-border': 'var(--line)',
    ...Object.assign({}, ...Object.keys(tokens).map(text)),
  }
  // For both schemes: what the library sets for each wins over what holds for all.
  return { variables: {}, light: variables, dark: variables }
}

const tokens: Readonly<Record<string, string>> = {
  accent: 'link',
  blue: 'link',
  green: 'good',
  yellow: 'warn',
  orange: 'warn',
  red: 'bad',
  gray: 'soft',
}
