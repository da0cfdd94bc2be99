/**
 * Steelyard can't start for a reason that a person can put right. The message is for that person, and all that is printed: what is wrong, and what to do.
 * Anything else that ends a start is a fault of ours, and logged with where it came from.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal'
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'a file stands there',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
  EDQUOT: 'the quota of this user is used up',
}

/** Why the system refused something, in words: of an error with a code that people meet, else its own message. */
export function whyRefused(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return reasons[code] ?? (error instanceof Error ? error.message : String(error))
}
