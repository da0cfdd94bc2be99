import { Told, type ToldOptions } from './causes/told.ts'

/**
 * Thrown if Steelyard can't start for a reason that the operator can fix. Only the message is
 * printed: what is wrong, and what to do. Any other error at start is a bug and is logged with its
 * stack.
 */
export class Refusal extends Told {
  override readonly name: string = 'Refusal'
  /**
   * Whether no later start succeeds until a person has changed something, so that a service manager
   * needn't try again.
   */
  readonly lasts: boolean

  constructor(message: string, { lasts = false, ...options }: ToldOptions & Lasting = {}) {
    super(message, options)
    this.lasts = lasts
  }
}

interface Lasting {
  readonly lasts?: boolean
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'a file is in the way',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
  EDQUOT: 'the quota of this user is used up',
}

/**
 * Describes a system error in words, for common error codes; otherwise returns the error's own
 * message.
 */
export function whyRefused(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return reasons[code] ?? (error instanceof Error ? error.message : String(error))
}
