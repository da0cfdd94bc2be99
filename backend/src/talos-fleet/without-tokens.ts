/**
 * Removes join tokens from external text: a booting Talos writes the whole URL into its log and
 * events, and an image factory repeats its input. Readers of such text may lack the permission to
 * create tokens.
 */
import { joinTokenPattern } from '#contract/join-tokens.ts'

const token = new RegExp(joinTokenPattern.source.slice(1, -1), 'g')
/** Also matches a truncated token, or one followed by further characters. */
const any = /sy-join-[A-Za-z0-9_-]+/g
/** A possible beginning of a token at the end of the received text. */
const begun = /(?:s|sy|sy-|sy-j|sy-jo|sy-joi|sy-join|sy-join-[A-Za-z0-9_-]{0,21})$/
const longestBegun = 'sy-join-'.length + 21
/**
 * The ellipsis in UTF-8, one character per byte: streams are decoded as latin1, so that bytes
 * outside of tokens stay unchanged.
 */
const hidden = Buffer.from('…').toString('latin1')

export const withoutTokens = (text: string): string => text.replaceAll(any, '…')

/**
 * Removes join tokens from a stream, even if a token is split between pieces. Only a possible
 * beginning of a token is held back until the next piece.
 */
export async function* streamWithoutTokens(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let kept = ''
  for await (const piece of pieces) {
    const text = (kept + Buffer.from(piece).toString('latin1')).replaceAll(token, hidden)
    kept = begun.exec(text.slice(-longestBegun))?.[0] ?? ''
    if (text.length > kept.length)
      yield Buffer.from(text.slice(0, text.length - kept.length), 'latin1')
  }
  if (kept !== '') yield Buffer.from(kept, 'latin1')
}
