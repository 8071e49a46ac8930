// Extras. Every page works without them.
'use strict'

// Times in the visitor's own zone.
const language = document.documentElement.lang
for (const time of document.querySelectorAll('time[data-local]')) {
  const options = time.dataset.local === 'clock' ? { timeStyle: 'medium' } : { dateStyle: 'medium', timeStyle: 'short' }
  time.title = time.textContent
  time.textContent = new Intl.DateTimeFormat(language, options).format(new Date(time.dateTime))
}

// Copy buttons.
for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = !navigator.clipboard
  const before = button.textContent
  const said = () => {
    button.textContent = document.body.dataset.copied
    setTimeout(() => {
      button.textContent = before
    }, 2000)
  }
  button.setAttribute('aria-live', 'polite')
  button.addEventListener('click', () => {
    void navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent).then(said)
  })
}

// Nobody loses what they have typed by a wrong click.
for (const form of document.querySelectorAll('form[data-guard]')) {
  let isChanged = form.dataset.guard === 'changed'
  form.addEventListener('input', () => {
    isChanged = true
  })
  form.addEventListener('submit', () => {
    isChanged = false
  })
  addEventListener('beforeunload', (event) => {
    if (isChanged) event.preventDefault()
  })
}

// The chat platform needs a moment, and asking it again at once shows the same.
for (const button of document.querySelectorAll('button[data-wait]')) {
  let left = Number(button.dataset.wait)
  const before = button.textContent
  button.disabled = true
  const count = () => {
    button.textContent = left > 0 ? `${before} (${left})` : before
    button.disabled = left > 0
    if (left-- > 0) setTimeout(count, 1000)
  }
  count()
}
