/** Text as HTML shows it, in an element or in an attribute in quotes. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
