import './styles/fonts'
import './styles/main.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { startSession } from './api/session'
import { App } from './app/App'
import { startI18n } from './i18n'
import { applyTheme, useWindow } from './store/window'

// The launch token leaves the address bar first; nothing is drawn before it.
const stopTheme = applyTheme()
const [start] = await Promise.all([startSession(), startI18n(useWindow.getState().language)])
stopTheme()

const root = document.getElementById('root')
if (root === null) throw new Error('main: the page has no root element')
// Titles may be in any language. Each face is fetched only when a character of
// its range is on the screen; the list of faces itself can wait.
void import('./styles/cjk')

createRoot(root).render(
  <StrictMode>
    <App start={start} />
  </StrictMode>,
)
