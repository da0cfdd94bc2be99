/** Files that Talos writes at boot. */
import { type Configuration, quoted, type RuntimeRule } from './rule.ts'

const source =
  'Talos internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go, WriteUserFiles'

const operations = new Set(['create', 'overwrite', 'append'])
const operationWords = 'create, overwrite or append'

/** A file of the folder of static pods, or of the runtime's configuration, is handled apart. */
const isHandledApart = (path: string): boolean =>
  /^\/etc\/kubernetes\/manifests\/[^/]+$/.test(path) ||
  path === '/etc/cri/conf.d/20-customization.part'

const filesOf = ({ main }: Configuration) =>
  main.items('machine', 'files').map(({ path }) => ({
    path,
    name: main.text(...path, 'path'),
    operation: main.text(...path, 'op'),
    permissions: main.number(...path, 'permissions'),
  }))

const isInVar = (name: string): boolean => /^\/*var(\/|$)/.test(name)

/** Permissions that somebody has written in octal without 0o, which YAML reads as decimal. */
const decimal = new Set([
  400, 440, 444, 600, 640, 644, 660, 664, 666, 700, 740, 744, 750, 755, 775, 777,
])

export const fileRules: readonly RuntimeRule[] = [
  {
    id: 'file-operation',
    source,
    level: 'refuse',
    *find(config) {
      for (const { path, name, operation } of filesOf(config))
        if (!operations.has(operation))
          yield {
            document: config.main,
            path: [...path, 'op'],
            sentence: `The file ${name} needs op: ${operationWords}. With ${operation === '' ? 'none' : operation} the boot fails, and the server restarts again and again`,
          }
    },
  },
  {
    id: 'file-created-outside-var',
    source,
    level: 'refuse',
    *find(config) {
      for (const { path, name, operation } of filesOf(config))
        if (operation === 'create' && name !== '' && !isInVar(name) && !isHandledApart(name))
          yield {
            document: config.main,
            path: [...path, 'path'],
            sentence: `The file ${name} can’t be created: Talos creates files below /var only. The boot fails, and the files after it aren’t written`,
          }
    },
  },
  {
    id: 'file-path',
    source,
    level: 'refuse',
    *find(config) {
      for (const { path, name } of filesOf(config))
        if (name === '' || name.endsWith('/') || name !== name.trim())
          yield {
            document: config.main,
            path: [...path, 'path'],
            sentence: `${name === '' ? 'A file without a path' : quoted(name)} is not the path of a file, so the boot fails`,
          }
    },
  },
  {
    id: 'file-must-exist',
    source,
    level: 'warn',
    *find(config) {
      for (const { path, name, operation } of filesOf(config))
        if (isInVar(name) && (operation === 'overwrite' || operation === 'append'))
          yield {
            document: config.main,
            path: [...path, 'op'],
            sentence: `The file ${name} must exist already for op: ${operation}; after an installation /var is empty, and then the boot fails. With op: create the file is written in any case`,
          }
    },
  },
  {
    id: 'file-permissions',
    source: 'YAML 1.2, 10.3.2: an octal number starts with 0o; Talos takes the number as it is',
    level: 'warn',
    *find(config) {
      for (const { path, name, permissions } of filesOf(config))
        if (permissions !== undefined && decimal.has(permissions))
          yield {
            document: config.main,
            path: [...path, 'permissions'],
            sentence: `The permissions of ${name} are read as the decimal number ${permissions}, which is 0o${permissions.toString(8)}. Write 0o${permissions}`,
          }
    },
  },
]
