/**
 * The files that may call a raw parser or read from a network: who wrote the bytes, on which thread
 * they are read, and their limits (docs/decisions/021-work-budgets.md). `parsers.test.ts` finds a
 * file that isn't here, and a row that isn't needed any more.
 *
 * A reader that isn't linear, or whose input may exceed 256 KiB, runs on a worker thread
 * (backend/src/reading/jobs.ts has its limits of processor time and memory). Bounded linear readers
 * stay on the main thread.
 */

/** How a parser is recognised in the text of a file. Comments are removed before. */
export const parsers = {
  yaml: /import \{[^}]*\b(?<!type )(?:parse|parseDocument|parseAllDocuments|Composer|Lexer|Parser)\b[^}]*\} from 'yaml'|import \* as \w+ from 'yaml'/,
  toml: /import \{[^}]*\bparse\b[^}]*\} from 'smol-toml'/,
  json: /\bJSON\.parse\(|\.json\(\)/,
  certificate: /\bnew (?:x509\.)?X509Certificate\(|import\('@peculiar\/x509'\)/,
  protobuf: /\b(?:fromBinary|fromJson)\(/,
  webauthn:
    /import\('@simplewebauthn\/server'\)|import \{(?! type)[^}]*\} from '@simplewebauthn\/server'/,
  token:
    /import\('(?:jose|openid-client)'\)|import \{(?! type)[^}]*\} from '(?:jose|openid-client)'/,
  bolt: /\bnew EtcdReader\(/,
  csv: /(?<!function )\bparseCsv\(/,
  archive:
    /\b(?:gunzip|inflate|inflateRaw|unzip|brotliDecompress|zstdDecompress)(?:Sync)?\(|\bcreate(?:Gunzip|Inflate|Unzip|BrotliDecompress|ZstdDecompress)\(|from 'tar(?:-stream)?'/,
  /**
   * Not a parser, but bytes of strangers all the same. Types of sockets and servers don't count.
   */
  network:
    /import \{[^}]*(?<!type )\b(?:request|connect|createServer|createSecureServer|createConnection|createSocket|get|Server|Socket)\b[^}]*\} from 'node:(?:https?|http2|net|tls|dgram)'|(?<![.\w])fetch\(/,
} as const
export type ParserName = keyof typeof parsers

/** Bytes that a bounded linear reader on the main thread may get. */
export const shortBytes = 256 * 1024

export interface ParserRow {
  readonly parses: readonly ParserName[]
  /**
   * `main`: the main thread; `worker`: threads of backend/src/reading; `thread`: another thread of
   * the program; `command`: a process that does only this; `own`: the main thread, but only for
   * bytes that Steelyard itself has written or that its operator gives it at the start.
   */
  readonly on: 'main' | 'worker' | 'thread' | 'command' | 'own'
  /**
   * Maximum bytes; for a network also the time. For a reader of main that may get more than
   * `shortBytes`, the reason why that is cheap.
   */
  readonly limits: string
  readonly bytes?: number
  /** Why a reader on the main thread may get more than `shortBytes`. */
  readonly although?: string
}

const kib = 1024
const mib = 1024 * kib
const own = (...parses: ParserName[]): ParserRow => ({
  parses,
  on: 'own',
  limits: 'written by Steelyard or given by its operator',
})

export const table: Readonly<Record<string, ParserRow>> = {
  'backend/src/http/pages/docs-search.ts': own('json'),
  // Threads
  'backend/src/reading/etcd-thread.ts': {
    parses: ['bolt'],
    on: 'worker',
    limits: 'streams.etcd; 8 GiB in pieces; each byte is looked at four times at most',
  },
  'backend/src/reading/json-pieces.ts': {
    parses: ['json'],
    on: 'worker',
    limits: 'jobs.json: 16 MiB, 3 s, 600,000 values, depth 64',
  },
  'backend/src/domains/configurations/composing/masking.ts': {
    parses: ['yaml'],
    on: 'worker',
    limits: 'jobs.mask, jobs.unmask: 4 MiB, 500 ms',
  },
  'talos/runtime-rules/toml.ts': {
    parses: ['toml'],
    on: 'worker',
    limits: 'jobs.check, jobs.compose and others of patches: 4 MiB, 3 s; depth 100',
  },
  'talos/config/whole.ts': {
    parses: ['yaml'],
    on: 'worker',
    limits: 'jobs.difference, same, facts: 8 MiB, 3 s; only what readDocuments bounds',
  },
  'talos/config/mask.ts': { parses: ['yaml'], on: 'worker', limits: 'jobs.mask: 4 MiB, 500 ms' },
  'talos/config/tree.ts': {
    parses: ['yaml'],
    on: 'worker',
    limits: 'all jobs of the thread `texts`; 20,000 values, depth 200',
  },

  // The main thread: the API
  'backend/src/http/body.ts': {
    parses: ['json'],
    on: 'main',
    bytes: 2.0625 * mib,
    limits:
      'the body limit of the call: 8 KiB for strangers, 256 KiB for users; 2.06 MiB only for imports of CSV; depth 16, lists of 1,000',
    although:
      'a body of more than 64 KiB with more than 20,000 values or 16 levels is refused before it is parsed; others take less than 200 ms (reading/bombs.test.ts)',
  },
  'backend/src/csv/table.ts': {
    parses: ['csv'],
    on: 'main',
    bytes: mib,
    limits: '1 MiB, 5,000 rows, 1,000 columns',
    although:
      'the reader reads each character once: a megabyte takes some tens of ms (reading/bombs.test.ts)',
  },
  'backend/src/domains/sessions/second-factor/passkeys.ts': {
    parses: ['webauthn'],
    on: 'main',
    bytes: 3 * kib,
    limits: 'each field has at most 4,096 characters',
  },
  'backend/src/domains/sessions/tokens.ts': {
    parses: ['token'],
    on: 'main',
    bytes: 16 * kib,
    limits: 'the longest header of a request',
  },
  'backend/src/db/find.ts': {
    parses: ['network'],
    on: 'main',
    bytes: kib,
    limits: 'one byte is read of the answer to a request for TLS',
  },
  'backend/src/db/embedded/elsewhere.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 0,
    limits: 'listens and connects on a socket in the data folder; reads nothing',
  },
  'backend/src/http/listen.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 0,
    limits: 'listens; reads nothing itself',
  },
  'backend/src/talos-fleet/source-address.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 0,
    limits: 'asks the kernel for a route; sends and reads nothing',
  },
  'backend/src/http/load/sockets.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 0,
    limits: 'time and number of sockets; reads nothing itself',
  },
  'backend/src/http/chunks.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 64 * kib,
    limits: 'the parts of a body as they arrive; the limit is that of body.ts',
  },

  // The main thread: what other services say
  'backend/src/reading/json.ts': {
    parses: ['json'],
    on: 'main',
    bytes: shortBytes,
    limits: '256 KiB, or pieces that the thread has checked',
  },
  'backend/src/domains/images/factory-call.ts': {
    parses: ['network'],
    on: 'main',
    bytes: mib,
    limits: '1 MiB, 10 s a call, 15 s in all',
    although: 'only collected here; reading/json.ts parses it',
  },
  'backend/src/domains/sessions/provider/client.ts': {
    parses: ['network', 'token'],
    on: 'main',
    bytes: shortBytes,
    limits: '256 KiB, 10 s',
  },
  'backend/src/domains/stores/s3-call.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 512 * kib,
    limits:
      'texts of 512 KiB and 60 s; files of 160 GiB in pieces, 60 s without a byte, and the deadline of the caller',
    although: 'regular expressions that are checked to be linear (patterns.test.ts)',
  },
  'backend/src/domains/alerts/posting.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 64 * kib,
    limits: 'the first 64 KiB of an answer, which is only shown; 30 s',
  },
  'backend/src/domains/alerts/mailing.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 16 * kib,
    limits: '16 KiB for each answer of the mail server; 30 s for the whole mail',
  },
  'backend/src/kubernetes/client.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 8 * mib,
    limits: '8 MiB, 8 s; 128 MiB of metrics, of which 256 KiB are kept',
    although: 'only collected here; reading/json.ts parses it',
  },
  'backend/src/kubernetes/answers.ts': {
    parses: ['json'],
    on: 'main',
    bytes: 16 * kib,
    limits: 'the first 16 KiB of an error',
  },
  'backend/src/domains/changes/configure/reach.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 0,
    limits: 'one TLS handshake of 5 s; no byte is read after it',
  },
  'backend/src/domains/changes/rotate/certificates.ts': {
    parses: ['certificate'],
    on: 'main',
    bytes: 64 * kib,
    limits: 'a file of a machine: 64 KiB',
  },

  // The main thread: what machines say
  'talos/client/kubeconfig.ts': {
    parses: ['archive'],
    on: 'main',
    bytes: shortBytes,
    limits: 'a kubeconfig: 64 KiB packed, 256 KiB unpacked',
  },
  'backend/src/domains/bmcs/accounts.ts': {
    parses: ['json'],
    on: 'main',
    bytes: 4 * kib,
    limits: 'a session that Steelyard has sealed: a token of at most 2,000 characters and a path',
  },
  'talos/client/connect.ts': {
    parses: ['network'],
    on: 'main',
    bytes: 64 * kib,
    limits:
      'a TLS handshake and HTTP/2 with the deadline of the call; grpc.ts collects 4 MiB of a message',
  },
  'talos/client/decode.ts': {
    parses: ['protobuf'],
    on: 'main',
    bytes: mib,
    limits: '1 MiB, 60,000 messages in a message, depth 64',
    although:
      'the messages are counted before objects are made of them: less than 200 ms (reading/bombs.test.ts)',
  },
  'talos/pki/certificates.ts': {
    parses: ['certificate'],
    on: 'main',
    bytes: 32 * kib,
    limits: 'longestPem of bundle.ts and access.ts',
  },

  // Only Steelyard's own bytes
  'backend/src/backup/key-sealed.ts': own('json'),
  'backend/src/backup/records.ts': {
    parses: ['json'],
    on: 'main',
    bytes: 64 * kib,
    limits: 'records of 64 KiB in a file that the passphrase opens',
  },
  'backend/src/commands/certificate.ts': own('certificate'),
  'backend/src/config.ts': own('json'),
  'backend/src/config-files.ts': own('certificate'),
  'backend/src/db/embedded/binaries.ts': own('json'),
  'backend/src/db/embedded/lock.ts': own('json'),
  'backend/src/db/position.ts': own('json'),
  'backend/src/domains/changes/configure/before.ts': own('json'),
  'backend/src/domains/patches/shared/store.ts': own('json'),
  'backend/src/domains/changes/kubernetes-upgrade/manifests.ts': own('json'),
  'backend/src/domains/changes/members/patched.ts': own('json'),
  'backend/src/domains/clusters/secrets.ts': own('json'),
  'backend/src/domains/events/chain.ts': own('json'),
  'backend/src/domains/servers/contact/observe.ts': own('json'),
  'backend/src/domains/servers/list/kept.ts': own('json'),
  'backend/src/http/pages/console.ts': own('json'),
  'backend/src/http/pages/files.ts': own('archive'),
  'backend/src/http/idempotency.ts': own('json'),
  'backend/src/main.ts': own('json'),

  // The command line
  'cli/src/api/failures.ts': {
    parses: ['json'],
    on: 'command',
    limits: 'a text of 64 MiB (long-read.ts)',
  },
  'cli/src/api/client.ts': {
    parses: ['network', 'json'],
    on: 'command',
    limits: 'texts of 64 MiB, and the time limit of the call',
  },
  'cli/src/api/contexts.ts': { parses: ['json'], on: 'command', limits: 'the own file' },
  'cli/src/api/sessions.ts': { parses: ['json'], on: 'command', limits: 'the own file' },
  'cli/src/api/stream.ts': {
    parses: ['network'],
    on: 'command',
    limits: 'eight characters of a line; 5 heartbeats without a byte',
  },
  'cli/src/commands/general/api.ts': {
    parses: ['json'],
    on: 'command',
    limits: 'a text of 64 MiB (long-read.ts), or what the user gives',
  },
  'cli/src/api/transport.ts': {
    parses: ['network'],
    on: 'command',
    limits: 'those of client.ts and stream.ts, which read the answers',
  },
  'cli/src/apply/yaml.ts': { parses: ['yaml'], on: 'command', limits: 'largestFile of files.ts' },
  'cli/src/commands/audit.ts': {
    parses: ['json'],
    on: 'command',
    limits: 'a line of 1 MiB (long-read.ts)',
  },
}

/** The parsers that a source file calls. */
export function parsersIn(source: string): ParserName[] {
  const code = source.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(?<!:)\/\/.*/g, '')
  return (Object.keys(parsers) as ParserName[]).filter((name) => parsers[name].test(code))
}

/**
 * What is wrong: files that call a parser that their row doesn't name, and rows that name a parser
 * that their file doesn't call.
 */
export function brokenRows(
  files: Readonly<Record<string, string>>,
  rows: Readonly<Record<string, ParserRow>> = table,
): string[] {
  const missing = Object.entries(files).flatMap(([file, source]) =>
    parsersIn(source)
      .filter((name) => !rows[file]?.parses.includes(name))
      .map(
        (name) =>
          `${file} reads ${name}: add it to tools/parsers.ts with its thread and limits, or use backend/src/reading`,
      ),
  )
  const idle = Object.entries(rows).flatMap(([file, { parses }]) => {
    const used = parsersIn(files[file] ?? '')
    return parses
      .filter((name) => !used.includes(name))
      .map((name) => `${file} does not read ${name}: remove that from tools/parsers.ts`)
  })
  const long = Object.entries(rows).flatMap(([file, { on, bytes, although }]) =>
    on === 'main' && although === undefined && (bytes === undefined || bytes > shortBytes)
      ? [`${file} may get more than 256 KiB on the main thread`]
      : [],
  )
  return [...missing, ...idle, ...long]
}
