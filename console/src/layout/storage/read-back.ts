/** Reading back the files of backups and snapshots. */
import { reasonOf } from '../../lib/reason.ts'
import { toast } from '../../ui/feedback/toast.ts'

type Noun = 'backup' | 'snapshot'
interface Checked {
  readonly status: string
  readonly reason: string | null
}

/** What the answer says of the file. The call also succeeds if the file is damaged. */
export function readBackSaid(
  noun: Noun,
  { status, reason }: Checked,
): { ok: boolean; text: string } {
  if (status === 'ready')
    return {
      ok: true,
      text: `The ${noun} was read back${noun === 'backup' ? ', opened' : ''} and is intact`,
    }
  return {
    ok: false,
    text:
      status === 'failed'
        ? `The ${noun} is damaged: ${reason ?? 'the reason is not known'}`
        : `The ${noun} is being removed`,
  }
}

/** Lets the file be read back, and says whether it is intact. */
export async function readBack(
  noun: Noun,
  id: string,
  verify: () => Promise<Checked>,
  refresh: () => Promise<unknown>,
): Promise<void> {
  // A large file is read for minutes. The result replaces this message.
  const one = { id: `verify-${id}` }
  toast.info(`The ${noun} is being read back`, one)
  try {
    const { ok, text } = readBackSaid(noun, await verify())
    await refresh()
    if (ok) toast.success(text, one)
    else toast.error(text, one)
  } catch (error) {
    toast.error(reasonOf(error), one)
  }
}
