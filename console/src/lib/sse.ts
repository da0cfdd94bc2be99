/** One message of a stream of server-sent events (WHATWG HTML, 9.2.6). */
export interface Message {
  id: string | null
  event: string
  data: string
}

/**
 * Parses server-sent events. Returns a function that takes chunks of text; whole messages go to
 * `onMessage`.
 */
export function eventReader(onMessage: (message: Message) => void): (chunk: string) => void {
  let rest = ''
  let [id, event, data]: [string | null, string, string[]] = [null, '', []]
  const line = (text: string) => {
    if (text === '') {
      if (data.length > 0)
        onMessage({ id, event: event === '' ? 'message' : event, data: data.join('\n') })
      event = ''
      data = []
      return
    }
    if (text.startsWith(':')) return
    const colon = text.indexOf(':')
    const field = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(colon + (text[colon + 1] === ' ' ? 2 : 1))
    if (field === 'id' && !value.includes('\0')) id = value
    else if (field === 'event') event = value
    else if (field === 'data') data.push(value)
  }
  return (chunk) => {
    rest += chunk
    // A trailing carriage return may be half of a line end: wait for the next chunk.
    for (let end = rest.search(/\r\n|\n|\r(?!$)/); end >= 0; end = rest.search(/\r\n|\n|\r(?!$)/)) {
      line(rest.slice(0, end))
      rest = rest.slice(end + (rest[end] === '\r' && rest[end + 1] === '\n' ? 2 : 1))
    }
  }
}
