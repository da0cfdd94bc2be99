import type { Stats } from 'node:fs'
import { userInfo } from 'node:os'

/**
 * Whether accounts other than this process's own can access the file. A file of root may be
 * readable for its group, unless the process is root: Kubernetes mounts a secret like that for a
 * pod that doesn't run as root. PostgreSQL has the same rule for its private keys
 * (check_ssl_key_file_permissions, src/backend/libpq/be-secure-common.c).
 * @param own user id of this process
 */
export const isOpenToOthers = (
  { uid, mode }: Pick<Stats, 'uid' | 'mode'>,
  own = userInfo().uid,
): boolean => (mode & (isOfRoot(uid, own) ? 0o037 : 0o077)) !== 0

/**
 * The commands that close such a file to others and leave it readable for this process.
 * @param own user and group id of this process
 */
export const closing = (
  file: string,
  { uid }: Pick<Stats, 'uid'>,
  own: { readonly uid: number; readonly gid: number } = userInfo(),
): string =>
  isOfRoot(uid, own.uid) ? `chgrp ${own.gid} ${file} && chmod 0640 ${file}` : `chmod 0600 ${file}`

const isOfRoot = (uid: number, own: number): boolean => uid === 0 && own !== 0
