/**
 * Whether a Steelyard in another container uses a data folder. Process ids say nothing there,
 * because each container counts its own, and PostgreSQL's own lock relies on them too. So the
 * process that holds the lock listens on a socket in the folder: every container of this machine
 * that has the folder reaches it, and the kernel closes it with its process.
 */
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import path from 'node:path'

const fileName = 'steelyard.socket'

/** A path of a socket has at most 107 bytes (unix(7)), so it begins at the opened folder. */
const below = (folder: number): string => `/proc/self/fd/${folder}/${fileName}`

/** Whether a process listens in the folder. False too on a system without /proc. */
export async function isListening(folder: string): Promise<boolean> {
  if (!existsSync(path.join(folder, fileName))) return false
  const open = openSync(folder, 'r')
  try {
    return await new Promise<boolean>((resolve) => {
      const socket = connect(below(open))
        .once('error', () => resolve(false))
        .once('connect', () => {
          socket.destroy()
          resolve(true)
        })
    })
  } finally {
    closeSync(open)
  }
}

/**
 * Listens in the folder until the returned function is called or the process ends. Only the holder
 * of the folder's lock may call it. Does nothing where no socket can be made: on a system without
 * /proc, and in folders that some virtual machines share.
 */
export async function listenIn(folder: string): Promise<() => void> {
  const file = path.join(folder, fileName)
  rmSync(file, { force: true })
  const open = openSync(folder, 'r')
  const server = createServer((socket) => socket.destroy()).unref()
  await new Promise<void>((resolve) => {
    server.on('error', () => resolve()).listen(below(open), resolve)
  })
  return () => {
    server.close()
    rmSync(file, { force: true })
    closeSync(open)
  }
}
