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
): boolean => (mode & (uid === 0 && own !== 0 ? 0o037 : 0o077)) !== 0
