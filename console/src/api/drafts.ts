/**
 * Drafts: form input that was not submitted, stored in IndexedDB under the user's id. A draft
 * survives a reload and an expired session. Log out deletes it. Some private windows have no
 * IndexedDB. Drafts are not kept there and nothing else fails.
 */
const database = 'steelyard'
const store = 'drafts'

/** Pause in typing, in ms, after which the draft is saved. A form that unmounts saves at once. */
export const keepAfterMs = 250

/**
 * User whose drafts were deleted. A form of this user that unmounts later must not save a draft
 * again.
 */
let forgotten: string | null = null

let opened: Promise<IDBDatabase> | undefined

/**
 * Opens one connection, and opens a new one after the browser has closed the old one. The browser
 * closes it when the response to a Log out clears the site's storage (Clear-Site-Data). A page of a
 * newer version also closes the connection.
 */
function open(): Promise<IDBDatabase> {
  opened ??= new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(database, 1)
    request.addEventListener('upgradeneeded', () => request.result.createObjectStore(store))
    request.addEventListener('success', () => {
      const db = request.result
      db.addEventListener('close', forgetConnection)
      db.addEventListener('versionchange', () => {
        db.close()
        forgetConnection()
      })
      resolve(db)
    })
    request.addEventListener('error', () =>
      reject(request.error ?? new Error('IndexedDB cannot be opened')),
    )
  }).catch((error: unknown) => {
    forgetConnection()
    throw error
  })
  return opened
}

function forgetConnection(): void {
  opened = undefined
}

async function run<T>(
  mode: IDBTransactionMode,
  what: (drafts: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const db = await open()
  return new Promise<T>((resolve, reject) => {
    const transaction = db.transaction(store, mode)
    const request = what(transaction.objectStore(store))
    transaction.addEventListener('complete', () => resolve(request.result))
    transaction.addEventListener('abort', () =>
      reject(transaction.error ?? new Error('IndexedDB aborted the transaction')),
    )
  })
}

/**
 * Retries once on a new connection: some browsers close a connection without an event, so the next
 * use fails.
 */
async function ask<T>(
  mode: IDBTransactionMode,
  what: (drafts: IDBObjectStore) => IDBRequest<T>,
): Promise<T | undefined> {
  try {
    return await run(mode, what)
  } catch {
    forgetConnection()
  }
  try {
    return await run(mode, what)
  } catch {
    return undefined
  }
}

interface Draft {
  value: unknown
  /** Milliseconds since the epoch. */
  savedAt: number
}

/**
 * `name` identifies the form, such as "patch/{server}/{patch}". Validate the result: an older
 * version of the page may have written it.
 */
export function readDraft(userId: string, name: string): Promise<Draft | undefined> {
  // A form of this user mounts, so the user has signed in again and drafts may be saved again.
  if (forgotten === userId) forgotten = null
  return ask('readonly', (drafts) => drafts.get([userId, name]) as IDBRequest<Draft | undefined>)
}

export async function writeDraft(userId: string, name: string, value: unknown): Promise<void> {
  if (forgotten === userId) return
  await ask('readwrite', (drafts) =>
    drafts.put({ value, savedAt: Date.now() } satisfies Draft, [userId, name]),
  )
}

export const removeDraft = (userId: string, name: string): Promise<unknown> =>
  ask('readwrite', (drafts) => drafts.delete([userId, name]))

/** Deletes all drafts of a user, at Log out. */
export function removeDrafts(userId: string): Promise<unknown> {
  forgotten = userId
  return ask('readwrite', (drafts) => drafts.delete(IDBKeyRange.bound([userId], [userId, []])))
}
