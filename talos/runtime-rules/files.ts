/** Files that Talos writes at boot. */
import { type Configuration, quoted, type RuntimeRule } from './rule.ts'
import { formerPlugin, newPlacesOf, tomlProblem } from './toml.ts'

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

/** Folders that are there before the files are written. */
const folders = new Set([
  '/etc',
  '/etc/kubernetes',
  '/etc/kubernetes/manifests',
  '/var',
  '/var/etc',
  '/var/lib',
  '/var/lib/kubelet',
  '/var/log',
  '/var/mnt',
])
const customization = '/etc/cri/conf.d/20-customization.part'

/** Files of Talos's image below /etc (`Dockerfile`); extensions write below /usr/local only. */
export const inImage: ReadonlySet<string> = new Set(
  ['extensions.yaml', 'resolv.conf', 'hosts', 'machine-id', 'nfsmount.conf', 'os-release']
    .concat(['containerd/config.toml', 'cri/containerd.toml', 'lvm/lvm.conf', 'localtime'])
    .concat(['cri/conf.d/cri.toml', 'cri/conf.d/00-base.part', 'cri/conf.d/01-registries.part'])
    .concat(['cri/conf.d/20-customization.part', 'cri/conf.d/base-spec.json'])
    .concat(['ssl/certs/ca-certificates.crt', 'iscsi/initiatorname.iscsi'])
    .concat(['nvme/hostid', 'nvme/hostnqn', 'ssl/certs/ca-certificates'])
    .map((name) => `/etc/${name}`),
)

const isInVar = (name: string): boolean => /^\/*var(\/|$)/.test(name)

/** Permissions that somebody has written in octal without 0o, which YAML reads as decimal. */
const decimal = new Set([
  400, 440, 444, 600, 640, 644, 660, 664, 666, 700, 740, 744, 750, 755, 775, 777,
])

const asDecimal = (name: string, mode: number): string =>
  `The permissions of ${name} are read as the decimal number ${mode}, which is 0o${mode.toString(8)}. Write 0o${mode}`

/** The parts of containerd's configuration, in both forms. */
function* customizations(config: Configuration) {
  for (const { path, name } of filesOf(config))
    if (name === customization)
      yield { document: config.main, path: [...path, 'content'], what: `file ${customization}` }
  for (const document of config.of('CRICustomizationConfig'))
    yield { document, path: ['content'], what: `part ${document.text('name')}` }
}

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
        if (
          name === '' ||
          name.endsWith('/') ||
          name !== name.trim() ||
          name.split('/').includes('..') ||
          folders.has(name)
        )
          yield {
            document: config.main,
            path: [...path, 'path'],
            sentence: `${name === '' ? 'A file without a path' : quoted(name)} is not the path of a file, so the boot fails`,
          }
    },
  },
  {
    id: 'file-customization-twice',
    source: `${source}: injectCRIConfigPatch creates the resource, and fails if it exists`,
    level: 'refuse',
    *find(config) {
      const all = filesOf(config).filter(({ name }) => name === customization)
      for (const { path } of all.slice(1))
        yield {
          document: config.main,
          path: [...path, 'path'],
          sentence: `The file ${customization} is there ${all.length === 2 ? 'twice' : `${all.length} times`}, also by lists of several patches, so the boot fails: write its parts into one`,
        }
    },
  },
  {
    id: 'file-must-exist',
    source,
    level: 'warn',
    *find(config) {
      for (const { path, name, operation } of filesOf(config)) {
        const isThere = name === '' || inImage.has(name) || !/^\/(var|etc)\//.test(name)
        if ((operation !== 'overwrite' && operation !== 'append') || isThere) continue
        if (!isInVar(name))
          yield {
            document: config.main,
            path: [...path, 'path'],
            sentence: `The file ${name} must exist already for op: ${operation}; Talos’s image is not known to have it, and without it the boot fails`,
          }
        else
          yield {
            document: config.main,
            path: [...path, 'op'],
            sentence: `The file ${name} must exist already for op: ${operation}; after an installation /var is empty, and then the boot fails. With op: create the file is written in any case`,
          }
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
            sentence: asDecimal(name, permissions),
          }
      for (const document of config.of('EtcFileConfig')) {
        const mode = document.number('mode')
        if (mode !== undefined && decimal.has(mode))
          yield {
            document,
            path: ['mode'],
            sentence: asDecimal(`/etc/${document.text('name')}`, mode),
          }
      }
    },
  },
  {
    id: 'file-below-file',
    source: `${source}: MkdirAll fails with "not a directory"`,
    level: 'refuse',
    *find(config) {
      const names = filesOf(config).map(({ name }) => name)
      for (const { path, name } of filesOf(config)) {
        const above = names.find((one) => one !== '' && name.startsWith(`${one}/`))
        if (above !== undefined)
          yield {
            document: config.main,
            path: [...path, 'path'],
            sentence: `${name} can’t lie below ${above}, which is a file, so the boot fails`,
          }
      }
    },
  },
  {
    id: 'file-twice',
    source: `${source}: WriteFile of the later one replaces the earlier one`,
    level: 'warn',
    *find(config) {
      const seen = new Set<string>()
      for (const { path, name, operation } of filesOf(config)) {
        if (seen.has(name) && operation !== 'append' && name !== customization)
          yield {
            document: config.main,
            path: [...path, 'path'],
            sentence: `The file ${name} is there twice, also by lists of several patches: only the last one stays`,
          }
        seen.add(name)
      }
    },
  },
  {
    id: 'file-customization-toml',
    source:
      'Talos internal/app/machined/pkg/controllers/files/cri_config_parts.go: toml.Merge of all parts fails, so containerd gets no configuration and starts no containers',
    level: 'refuse',
    *find(config) {
      for (const { document, path, what } of customizations(config)) {
        const problem = tomlProblem(document.text(...path))
        if (problem !== null)
          yield {
            document,
            path,
            sentence: `The ${what} is not TOML: ${problem}. containerd does not start with it`,
          }
      }
    },
  },
  {
    id: 'file-customization-plugin',
    source:
      'containerd docs/cri/config.md and pkg/cri/config: version 3 of the configuration (containerd 2, Talos hack/cri-plugin.part) has these settings under two new names, and ignores the former one',
    level: 'warn',
    *find(config) {
      for (const { document, path, what } of customizations(config)) {
        const places = newPlacesOf(document.text(...path))
        if (places !== null)
          yield {
            document,
            path,
            sentence: `The ${what} has settings under ${formerPlugin}, which containerd 2 ignores: move ${places || 'them to io.containerd.cri.v1.runtime'}`,
          }
      }
    },
  },
]
