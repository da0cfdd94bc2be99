import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ESTree, Plugin } from 'vite'

const folder = fileURLToPath(new URL('../../contract/', import.meta.url))
/** Module that sets the default error messages of schemas. */
const sentences = `${folder}sentences.ts`
/** Import query that selects the copy of a contract module with the module's schemas. */
const schemasOnly = '?schemas'

/** Properties of a declared call that are needed to send the call. */
const sent = ['name', 'method', 'path', 'scope', 'media'] as const
const isCall = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && sent.every((key) => key in value)
const textsOf = (call: Record<string, unknown>) =>
  Object.fromEntries(sent.map((key) => [key, call[key]]))
const areCalls = (value: unknown): value is Record<string, Record<string, unknown>> =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).length > 0 &&
  Object.values(value).every(isCall)
const isSchema = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && '_zod' in value

/**
 * Where a call's property `list` is declared: as the first argument of a helper function, also
 * within another one, or as a property. Undefined if neither is found.
 */
function listOf(init: ESTree.Expression): { start: number; end: number } | undefined {
  if (init.type === 'CallExpression') {
    const [first] = init.arguments
    return first?.type === 'CallExpression' ? listOf(first) : first
  }
  const properties = init.type === 'ObjectExpression' ? init.properties : []
  return properties.flatMap((one) =>
    one.type === 'Property' && one.key.type === 'Identifier' && one.key.name === 'list'
      ? [one.value]
      : [],
  )[0]
}

/**
 * Finds the schemas inside a value that isn't itself a schema, such as `z.object({})` in `{
 * arguments: z.object({}) }`.
 */
function schemasIn(node: unknown): ESTree.Expression[] {
  if (typeof node !== 'object' || node === null) return []
  const { type, callee } = node as { type?: string; callee?: unknown }
  if (type === 'CallExpression' && isOfZod(callee)) return [node as ESTree.Expression]
  return Object.values(node).flatMap(schemasIn)
}
const isOfZod = (node: unknown): boolean => {
  const { type, name, object, callee } = node as {
    type: string
    name?: string
    object?: unknown
    callee?: unknown
  }
  return type === 'Identifier' ? name === 'z' : isOfZod(object ?? callee ?? { type: 'Identifier' })
}

/** Properties of a filter that only the CLI and the documentation of the API use. */
const ofFilters: ReadonlySet<string> = new Set(['help', 'placeholder', 'flag', 'short'])
type Span = Pick<ESTree.Node, 'start' | 'end'>

/**
 * Properties that the console doesn't use: the help of a list's filters and what the CLI makes of
 * them, the steps and the command of a kind of operation, and the remedies of a kind of findings.
 * Steps of an operation come with their titles, and findings with their remedies.
 */
function unshownIn(node: unknown, within = ''): Span[] {
  if (typeof node !== 'object' || node === null) return []
  const { type, properties = [] } = node as Partial<ESTree.ObjectExpression>
  if (type !== 'ObjectExpression')
    return Object.values(node).flatMap((one) => unshownIn(one, within))
  const named = properties.map((one) =>
    one.type === 'Property' && one.key.type === 'Identifier'
      ? { name: one.key.name, value: one.value, one }
      : { name: '', value: one, one },
  )
  const has = (...keys: string[]) => keys.every((key) => named.some(({ name }) => name === key))
  const isOperation = has('audit', 'event', 'command')
  const isFinding = has('severity', 'word', 'remedies')
  // Several lists have a filter that is declared apart from them.
  const isFilter = within === 'filters' || has('label', 'help', 'syntax')
  return named.flatMap(({ name, value, one }) => {
    const isUnshown =
      (isFilter && ofFilters.has(name)) ||
      (isOperation && ['steps', 'command'].includes(name)) ||
      (isFinding && name === 'remedies')
    if (isUnshown) return [one]
    return unshownIn(value, within === 'filters' ? within : name)
  })
}

/** Whether a module of the contract imports the schema library. */
const hasSchemas = (file: string): boolean =>
  file.startsWith(folder) && readFileSync(file, 'utf8').includes("from 'zod/mini'")

/**
 * Removes the parts of the contract that a page doesn't use from the page's code. Otherwise every
 * page would load the schema library and nearly all schemas.
 * - A declared call is replaced by its name, method, path, scope and media type, without its
 *   schemas.
 * - Texts that the console doesn't show are left out (`unshownIn`).
 * - Exported schemas, which forms use, are in a separate copy of the contract's module, so that a
 *   page can use the rest of the module without schemas.
 * - Top-level values are marked as free of side effects, so that the bundler drops those that
 *   nothing uses.
 */
export const contract = (): Plugin => ({
  name: 'steelyard:contract',
  apply: 'build',
  async transform(code, id) {
    if (!id.startsWith(folder)) return undefined
    const [file = id] = id.split('?')
    const values = (await import(pathToFileURL(file).href)) as Record<string, unknown>
    const isCopy = id !== file
    const schemas: string[] = []
    const edits: (readonly [start: number, end: number, text: string])[] = []
    for (const statement of this.parse(code).body) {
      if (
        statement.type === 'ImportDeclaration' &&
        isCopy &&
        statement.source.value.startsWith('.') &&
        hasSchemas(path.resolve(path.dirname(file), statement.source.value))
      )
        edits.push([
          statement.source.start,
          statement.source.end,
          JSON.stringify(statement.source.value + schemasOnly),
        ])
      const isExported = statement.type === 'ExportNamedDeclaration'
      const declared = isExported ? statement.declaration : statement
      if (declared?.type !== 'VariableDeclaration') continue
      for (const { id: name, init } of declared.declarations) {
        if (
          !init ||
          name.type !== 'Identifier' ||
          init.type === 'ArrowFunctionExpression' ||
          init.type === 'Literal'
        )
          continue
        const { start, end } = init
        const value = values[name.name]
        if (isCall(value)) {
          const texts = JSON.stringify(textsOf(value))
          const list = 'list' in value ? listOf(init) : null
          if (list === undefined) this.error(`${file}: where is the list of ${name.name} declared?`)
          edits.push([
            start,
            end,
            list === null ? texts : `{ ...${texts}, list: ${code.slice(list.start, list.end)} }`,
          ])
          continue
        }
        if (areCalls(value)) {
          edits.push([
            start,
            end,
            JSON.stringify(
              Object.fromEntries(Object.entries(value).map(([key, call]) => [key, textsOf(call)])),
            ),
          ])
          continue
        }
        const isOne = isSchema(value) || isOfZod(init)
        if (isExported && isOne && !isCopy) {
          schemas.push(name.name)
          edits.push([statement.start, declared.start, ''])
        }
        edits.push([start, start, '/* @__PURE__ */ (() => ('])
        if (!isOne && !isCopy)
          edits.push(
            ...[
              ...schemasIn(init).map(
                ({ start: from, end: to }) => [from, to, 'undefined'] as const,
              ),
              ...unshownIn(init).map(({ start: from, end: to }) => {
                const [comma = ''] = /^\s*,/.exec(code.slice(to)) ?? []
                return [from, to + comma.length, ''] as const
              }),
            ].toSorted(([a], [b]) => a - b),
          )
        edits.push([end, end, '))()'])
      }
    }
    for (const [start, end, text] of edits.toReversed())
      code = code.slice(0, start) + text + code.slice(end)
    if (schemas.length > 0)
      code += `\nexport { ${schemas.join(', ')} } from ${JSON.stringify(file + schemasOnly)}`
    if (isCopy) code = `import ${JSON.stringify(sentences)}\n${code}`
    return { code, map: null, moduleSideEffects: id === sentences }
  },
})
