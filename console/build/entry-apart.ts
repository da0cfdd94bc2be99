import type { Plugin } from 'vite'

/**
 * The sign-in page comes without the pages behind it. A build whose entry would fetch what they share, the piece `app`, fails and names the imports that do it:
 * the two would wait for each other in a circle, and the page stay empty.
 */
export const entryApart = (): Plugin => ({
  name: 'steelyard:entry-apart',
  apply: 'build',
  generateBundle(_, bundle) {
    const chunks = Object.values(bundle).flatMap((part) => (part.type === 'chunk' ? [part] : []))
    const app = chunks.find((chunk) => chunk.name === 'app')
    const entry = chunks.find((chunk) => chunk.isEntry)
    if (app === undefined || entry === undefined) return
    const behind = new Set(app.moduleIds)
    const fetched = new Set([entry.fileName])
    for (const name of fetched) {
      for (const chunk of chunks) if (chunk.fileName === name && chunk !== app) for (const next of chunk.imports) fetched.add(next)
    }
    if (!fetched.has(app.fileName)) return
    const by = chunks
      .filter((chunk) => chunk !== app && fetched.has(chunk.fileName))
      .flatMap((chunk) => chunk.moduleIds.map((id) => ({ id, wanted: this.getModuleInfo(id)?.importedIds.filter((other) => behind.has(other)) ?? [] })))
      .flatMap(({ id, wanted }) => wanted.map((other) => `${id} imports ${other}`))
    this.error(`The sign-in page would fetch the pages behind it. Leave what it imports out of the group \`app\` in vite.config.ts:\n${by.join('\n')}`)
  },
})
