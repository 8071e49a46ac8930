import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import '@mantine/spotlight/styles.css'
import '@botberth/contract/tokens.css'
import './style.css'
import { createRoot } from 'react-dom/client'
import { App } from './App.tsx'
import { listenForHotkeys } from './hotkeys.ts'
import { watchSignIns } from './session.ts'
import { openPalette } from './shell/palette-state.ts'
import { chooseLanguage, loadTexts } from './texts/texts.ts'

const language = chooseLanguage()
listenForHotkeys(openPalette)
watchSignIns()
const root = document.getElementById('root')
if (root) createRoot(root).render(<App first={{ language, t: await loadTexts(language) }} />)
