/**
 * A store in a folder of this machine. Files are written under another name, synced and then
 * renamed, so that no file is ever incomplete. A marker file with the store's id distinguishes the
 * folder from an empty mount point: if the disk isn't mounted, the store refuses.
 */
import { createReadStream } from 'node:fs'
import { mkdir, open, readFile, realpath, rename, rm, unlink } from 'node:fs/promises'
import path from 'node:path'
import { whyRefused } from '../../refusal.ts'
import { syncFolder } from '../../vault/durable.ts'
import { demandKey, largestFile, type ObjectStore, StoreError } from './object-store.ts'

const marker = 'steelyard-store'

/**
 * Why the folder is not inside one of the allowed folders; undefined if it is. Links in the path
 * are followed.
 */
export async function whyNotAllowed(
  folder: string,
  allowed: readonly string[],
): Promise<string | undefined> {
  const plain = path.resolve(folder)
  const isInside = (one: string, root: string): boolean =>
    one !== root && one.startsWith(root.endsWith('/') ? root : `${root}/`)
  const roots = await Promise.all(
    allowed.map(
      async (root) =>
        [path.resolve(root), await realpath(root).catch(() => path.resolve(root))] as const,
    ),
  )
  const real = await realpath(await deepestExisting(plain)).catch(() => plain)
  const target = plain.slice((await deepestExisting(plain)).length)
  const within = roots.some(
    ([root, realRoot]) => isInside(plain, root) && isInside(`${real}${target}`, realRoot),
  )
  return within
    ? undefined
    : `${folder} is not inside ${allowed.join(' or ')}: choose a folder there, or add its parent to STEELYARD_STORE_FOLDERS`
}

/** The longest part of the path that exists. */
async function deepestExisting(folder: string): Promise<string> {
  for (let at = folder; ; at = path.dirname(at)) {
    const exists = await realpath(at).then(
      () => true,
      () => false,
    )
    if (exists || at === path.dirname(at)) return at
  }
}

const refused = (what: string, error: unknown) =>
  error instanceof StoreError
    ? error
    : new StoreError(`${what}: ${whyRefused(error)}`, { cause: error })

/** The store whose marker file the folder contains; undefined without a marker file. */
const claimant = (folder: string): Promise<string | undefined> =>
  readFile(path.join(folder, marker), 'utf8').then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    },
  )

/**
 * Creates the marker file, never over another one. @throws StoreError if the folder is a store
 * already, or can't be written
 */
export async function claimFolder(folder: string, id: string): Promise<void> {
  const target = path.join(folder, marker)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = await open(target, 'wx', 0o600).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
      const other = (await claimant(folder))?.slice(0, 40)
      // A file without a store: a process was killed while it added the store.
      throw new StoreError(
        `${folder} is the folder of another store${other ? ` (${other})` : ''}: choose another folder, or, if there is no such store here or in another installation, remove ${target}`,
      )
    })
    try {
      await file.writeFile(`${id}\n`)
      await file.sync()
      await syncFolder(folder)
    } catch (error) {
      await unlink(target).catch(() => undefined)
      throw error
    } finally {
      await file.close()
    }
  } catch (error) {
    throw refused(`The folder ${folder} can't be written`, error)
  }
}

/** Removes the marker file if it is this store's. Other files in the folder stay. */
export async function disclaimFolder(folder: string, id: string): Promise<void> {
  const isOwn = await claimant(folder).then(
    (other) => other === id,
    () => false,
  )
  if (isOwn) await unlink(path.join(folder, marker)).catch(() => undefined)
}

export function folderStore(folder: string, id: string): ObjectStore {
  const demandMarker = async () => {
    if ((await claimant(folder).catch(() => undefined)) !== id)
      throw new StoreError(
        `${path.join(folder, marker)} is missing or of another store: mount the disk of this folder, or restore the file (its content is ${id})`,
      )
  }
  const fileOf = (key: string) => path.join(folder, demandKey(key))
  return {
    async put(key, source, signal) {
      await demandMarker()
      const target = fileOf(key)
      const making = `${target}.part`
      try {
        await mkdir(path.dirname(target), { recursive: true, mode: 0o700 })
        const file = await open(making, 'w', 0o600)
        let bytes = 0
        try {
          for await (const piece of source) {
            signal.throwIfAborted()
            await file.writeFile(piece)
            bytes += piece.byteLength
          }
          await file.sync()
        } finally {
          await file.close()
        }
        signal.throwIfAborted()
        await rename(making, target)
        await syncFolder(path.dirname(target))
        return bytes
      } catch (error) {
        await unlink(making).catch(() => undefined)
        if (error instanceof Error && 'syscall' in error)
          throw refused(`${target} can't be written`, error)
        throw error
      }
    },

    async *get(key, signal, most = largestFile) {
      await demandMarker()
      try {
        let read = 0
        for await (const piece of createReadStream(fileOf(key), {
          signal,
          highWaterMark: 1024 * 1024,
        }) as AsyncIterable<Buffer>) {
          read += piece.length
          if (read > most)
            throw new StoreError(`${fileOf(key)} is longer than the ${most} bytes that it can have`)
          yield piece
        }
      } catch (error) {
        if (signal.aborted) throw signal.reason
        if (error instanceof StoreError) throw error
        const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
        throw isMissing
          ? new StoreError(`The store has no file ${fileOf(key)}`, {
              kind: 'missing',
              cause: error,
            })
          : refused(`${fileOf(key)} can't be read`, error)
      }
    },

    async remove(key) {
      await demandMarker()
      try {
        await rm(`${fileOf(key)}.part`, { force: true })
        await rm(fileOf(key), { force: true })
      } catch (error) {
        throw refused(`${fileOf(key)} can't be removed`, error)
      }
    },
  }
}
