import {
  type Store,
  storeCreate,
  storeGet,
  storeList,
  storePlace,
  storeRemove,
  storeTest,
  storeUpdate,
} from '#contract/storage/stores.ts'
import {
  command,
  type Command,
  type Context,
  given,
  listCommand,
  objectCommand,
} from '../../command.ts'
import { CliError } from '../../exit.ts'
import { readText } from '../../files.ts'
import * as noun from '../../nouns.ts'
import { facts } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { localTime, oneLine } from '../../text.ts'

const storeText = (terminal: Terminal, s: Store): string =>
  facts(terminal, [
    ['Name', s.name],
    ['Id', s.id],
    ['Place', storePlace(s)],
    ['Region', s.region],
    [
      'Addresses',
      s.kind === 's3' ? (s.path_style ? 'bucket in the path' : 'bucket in the host name') : null,
    ],
    ['Access key', s.access_key_id],
    ['Verified', s.verified_at === null ? 'never' : localTime(s.verified_at)],
    ['Problem', s.problem === null ? null : `${s.problem} (since ${localTime(s.problem_since)})`],
    ['Created', localTime(s.created_at)],
  ])

/** The secret access key, from a file or from the terminal. */
async function secretOf({ terminal }: Context, file: string | undefined): Promise<string> {
  if (file !== undefined) return (await readText(file)).trim()
  const typed = await terminal.ask('Secret access key: ', { secret: true })
  if (typed === null)
    throw new CliError('usage', 'There is no terminal to ask for the secret access key', {
      hint: 'Put it into a file: --secret-file FILE',
    })
  return typed.trim()
}

const placeOptions = {
  endpoint: { kind: 'text', value: 'URL', help: 'URL of the S3 service' },
  region: {
    kind: 'text',
    value: 'REGION',
    help: 'Region of the bucket. A new store has us-east-1 by default',
  },
  bucket: { kind: 'text', value: 'BUCKET', help: 'Name of the bucket, which must exist' },
  prefix: { kind: 'text', value: 'PREFIX', help: 'Prefix of the name of every object' },
  'host-style': {
    kind: 'flag',
    help: 'The bucket is in the host name (https://BUCKET.HOST), not in the path',
  },
} as const
const keyOptions = {
  'access-key': { kind: 'text', value: 'ID', help: 'Access key id' },
  'secret-file': {
    kind: 'text',
    value: 'FILE',
    help: 'File with the secret access key; - for standard input (default: asks for it)',
  },
} as const

export const storeCommands: Command[] = [
  listCommand({
    name: 'store list',
    summary: 'Stores for snapshots of clusters and for backups of Steelyard.',
    examples: ['store list', 'store list --kind s3'],
    operation: storeList,
    cells: { problem: { colour: () => 'red', optional: true } },
  }),
  objectCommand({
    name: 'store show',
    of: noun.store,
    operation: storeGet,
    say: (s, _name, { terminal }) => storeText(terminal, s),
  }),
  command({
    name: 'store add',
    summary:
      'Add a store: a folder on the machine that Steelyard runs on, or a bucket of an S3-compatible service. It is tested first.',
    operands: { name: { value: 'NAME', help: 'Name of the store' } },
    options: {
      folder: {
        kind: 'text',
        value: 'FOLDER',
        help: 'Absolute path of a folder inside STEELYARD_STORE_FOLDERS',
      },
      ...placeOptions,
      ...keyOptions,
    },
    examples: [
      'store add local --folder /srv/steelyard/prod',
      'store add offsite --endpoint https://s3.example.com --bucket steelyard --access-key AKIA0 --secret-file ./key',
    ],
    async run(context, { operands: { name }, options: o }) {
      const { api, show } = context
      if ((o.folder === undefined) === (o.endpoint === undefined))
        throw new CliError('usage', 'Give either --folder or --endpoint')
      const said = (s: Store) =>
        `${oneLine(s.name)} is added: a file was written to ${oneLine(storePlace(s))}, read back and removed\n`
      if (o.folder !== undefined)
        return show(
          await api.call(storeCreate, { body: { name, kind: 'folder', folder: o.folder } }),
          said,
        )
      const { endpoint, bucket, 'access-key': access_key_id } = o
      if (endpoint === undefined || bucket === undefined || access_key_id === undefined)
        throw new CliError('usage', 'Give --bucket and --access-key')
      const secret_access_key = await secretOf(context, o['secret-file'])
      const place = {
        endpoint,
        region: o.region ?? 'us-east-1',
        bucket,
        ...given({ prefix: o.prefix }),
        path_style: !o['host-style'],
      }
      return show(
        await api.call(storeCreate, {
          body: { name, kind: 's3', ...place, access_key_id, secret_access_key },
        }),
        said,
      )
    },
  }),
  objectCommand({
    name: 'store edit',
    of: noun.store,
    operation: storeUpdate,
    summary:
      'Rename a store, or change the access key or the place of a bucket. It is tested first; files must be at the new place already.',
    options: {
      name: { kind: 'text', value: 'NAME', help: 'New name' },
      ...placeOptions,
      'path-style': { kind: 'flag', help: 'The bucket is in the path again' },
      ...keyOptions,
    },
    examples: [
      'store edit offsite --name offsite-2',
      'store edit offsite --access-key AKIA1 --secret-file ./key',
      'store edit offsite --endpoint https://s3.example.org',
    ],
    async ask(context, { options: o }) {
      const isKey = o['access-key'] !== undefined || o['secret-file'] !== undefined
      const secret_access_key = isKey ? await secretOf(context, o['secret-file']) : undefined
      if (o['host-style'] && o['path-style'])
        throw new CliError('usage', 'Give either --host-style or --path-style')
      const path_style = o['host-style'] ? false : o['path-style'] ? true : undefined
      const { name, endpoint, region, bucket, prefix } = o
      const body = given({
        name,
        endpoint,
        region,
        bucket,
        prefix,
        path_style,
        access_key_id: o['access-key'],
        secret_access_key,
      })
      if (Object.keys(body).length === 0) throw new CliError('usage', 'Specify what to change')
      return { body }
    },
    say: (s) => `${oneLine(s.name)} is changed\n`,
  }),
  objectCommand({
    name: 'store test',
    of: noun.store,
    operation: storeTest,
    done({ show }, result) {
      show(result, (r) =>
        r.ok
          ? `The store works (${r.took_ms} ms)\n`
          : `The store does not work: ${oneLine(r.problem ?? '')}\n`,
      )
      return result.ok ? 0 : 1
    },
  }),
  objectCommand({
    name: 'store remove',
    of: noun.store,
    operation: storeRemove,
    say: (_none, name) => `${oneLine(name)} is removed; files in it stay\n`,
  }),
]
