// Sequences that a terminal acts on: those with parameters (CSI), strings such as titles and the clipboard (OSC, DCS, SOS, PM,
// APC), and those of two characters; each in its spelling with ESC and in the one of a single character. A string that is
// not ended ends with its line.
const sequences =
  /(?:\u001b\[|\u009b)([0-9:;<=>?]*)[ -/]*([@-~])|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g
const colors = /^[0-9:;]*$/
// All but tabs and line breaks. Those that are shown have no place in a line of text, but no power either.
const controls = /[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g
// They turn the order of what is read around, so that a line says something else than what it is.
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const overwritten = /[^\n]*\r(?=[^\r\n])/g

/**
 * What somebody else wrote, for a terminal: with its colours, and without anything that would move the cursor, change the
 * title or write to the clipboard. Of a line that was written over only what was seen in the end is left, and marks that
 * change the direction of reading are shown.
 */
export function safeForTerminal(text: string): string {
  // Most lines have nothing of it.
  if (!/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(text)) return text
  return text
    .replaceAll(overwritten, '')
    .replaceAll(sequences, (_, parameters: string | undefined, final: string | undefined) =>
      final === 'm' && colors.test(parameters ?? '') ? `\u001b[${parameters ?? ''}m` : '',
    )
    .replaceAll(controls, '')
    .replaceAll(directions, (mark) => `<U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}>`)
}
