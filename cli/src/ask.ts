import type { ReadStream } from 'node:tty'
import { StringDecoder } from 'node:string_decoder'
import { CliError } from './exit.ts'

type Input = Pick<ReadStream, 'isTTY' | 'setRawMode' | 'on' | 'off' | 'pause' | 'resume'>

/**
 * Prompts on the terminal. Reads in raw mode, so that a secret isn't echoed, and handles the keys of the line editor itself.
 * Returns null if standard input is no terminal. Throws CliError `interrupted` on Ctrl-C.
 */
export async function askOnTerminal(
  input: Input,
  output: { write(text: string): unknown },
  question: string,
  { secret }: { secret: boolean },
): Promise<string | null> {
  if (!input.isTTY) return null
  output.write(question)
  input.setRawMode(true)
  input.resume()
  const decoder = new StringDecoder('utf8')
  let typed: string[] = []
  try {
    return await new Promise((resolve, reject) => {
      const echo = (text: string) => void (secret || output.write(text))
      const read = (chunk: Buffer) => {
        const keys = decoder.write(chunk)
        // Ignore arrow and function keys, which arrive as one escape sequence.
        if (keys.startsWith('\u001b')) return
        for (const key of keys) {
          if (key === '\r' || key === '\n' || key === '\u0004') {
            input.off('data', read)
            return resolve(typed.join(''))
          }
          if (key === '\u0003') {
            input.off('data', read)
            return reject(new CliError('interrupted', 'Not signed in'))
          }
          if (key === '\u007f' || key === '\b') {
            if (typed.pop() !== undefined) echo('\b \b')
          } else if (key === '\u0015') {
            echo('\b \b'.repeat(typed.length))
            typed = []
          } else if (key >= ' ') {
            typed.push(key)
            echo(key)
          }
        }
      }
      input.on('data', read)
    })
  } finally {
    input.setRawMode(false)
    input.pause()
    output.write('\n')
  }
}
