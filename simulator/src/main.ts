import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ask } from './control/ask.ts'
import { readScenario, ScenarioError } from './fleet/scenario.ts'
import { startSimulator } from './start.ts'
import { help, table } from './text.ts'

/**
 * The command line of the simulator: runs a fleet until a signal, or sends a command to a running
 * one.
 */

// The servers keep running after the reader of the output has exited.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

const say = (line: string): void => void process.stderr.write(`${line}\n`)
const print = (line: string): void => void process.stdout.write(`${line}\n`)

const TEXT_OPTIONS = (
  'servers scenario data seed speed subnet-offset factory-port boot-with count datacenter schematic ' +
  'talos-version hardware slowness uuid serial announce-uuid announce-serial announce-mac'
).split(' ')

/** The parsed command line. Throws `ScenarioError` for an unknown option or a missing value. */
const parse = (): ReturnType<typeof parseArgs> => {
  const options = {
    ...Object.fromEntries(TEXT_OPTIONS.map((name) => [name, { type: 'string' }] as const)),
    'never-answer': { type: 'boolean' },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const
  try {
    return parseArgs({ allowPositionals: true, strict: true, options })
  } catch (cause) {
    const [sentence = ''] = cause instanceof Error ? cause.message.split('. ') : []
    throw new ScenarioError(`${sentence}: npm run simulate -- --help shows what there is`, {
      cause,
    })
  }
}

const number = (name: string, value: unknown): number | undefined => {
  if (typeof value !== 'string') return undefined
  const parsed = Number(value)
  if (value.trim() === '' || !Number.isFinite(parsed))
    throw new ScenarioError(`--${name} takes a number, not "${value}"`)
  return parsed
}

const dataDir = (given: unknown): string =>
  typeof given === 'string'
    ? resolve(given)
    : resolve(process.env.STEELYARD_DATA ?? '.steelyard', 'simulator')

const serve = async (values: Record<string, unknown>): Promise<void> => {
  const servers = number('servers', values.servers)
  const speed = number('speed', values.speed)
  const subnetOffset = number('subnet-offset', values['subnet-offset'])
  const factoryPort = number('factory-port', values['factory-port'])
  const simulator = await startSimulator({
    dataDir: dataDir(values.data),
    say,
    ...(typeof values.scenario === 'string' && { scenario: readScenario(values.scenario) }),
    ...(servers !== undefined && { servers }),
    ...(speed !== undefined && { speed }),
    ...(subnetOffset !== undefined && { subnetOffset }),
    ...(factoryPort !== undefined && { factoryPort }),
    ...(typeof values.seed === 'string' && { seed: values.seed }),
  })
  print(
    `Simulator is ready: ${simulator.servers.length} servers, control socket ${simulator.control}, image factory ${simulator.factory.url}`,
  )
  await new Promise<void>((stop) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop())
  })
  await simulator.stop()
}

/** The body of `POST /boot`, from the options. */
const bootWish = (values: Record<string, unknown>): object => {
  const count = number('count', values.count)
  const slowness = number('slowness', values.slowness)
  const version = values['talos-version']
  const given = (names: string[], prefix = '') =>
    Object.fromEntries(
      names.flatMap((name) =>
        values[prefix + name] === undefined ? [] : [[name, values[prefix + name]]],
      ),
    )
  return {
    kernel_command_line: values['boot-with'],
    ...(count !== undefined && { count }),
    ...(slowness !== undefined && { slowness }),
    ...(typeof version === 'string' && {
      talos: version.startsWith('v') ? version : `v${version}`,
    }),
    ...given(['datacenter', 'schematic', 'hardware', 'uuid', 'serial']),
    announce: given(['uuid', 'serial', 'mac'], 'announce-'),
    ...(values['never-answer'] === true && { faults: [{ kind: 'refuse', port: 'apid' }] }),
  }
}

const command = async (
  values: Record<string, unknown>,
  [name = '', ...rest]: string[],
): Promise<void> => {
  const socket = resolve(dataDir(values.data), 'control.sock')
  const [which, ...more] = rest
  const show = (answer: unknown, hidden: readonly string[] = []): void =>
    print(values.json === true ? JSON.stringify(answer, null, 2) : table(answer, hidden))
  if (typeof values['boot-with'] === 'string') {
    if (/[?&](?:uuid|serial|mac)=(?:&|\s|$)/.test(values['boot-with']))
      say('Put the command line into single quotes: the shell has removed its ${…} variables')
    // Without --datacenter the simulator chooses one. Steelyard takes the datacenter from the join
    // token, so the simulator's choice isn't shown.
    return show(
      await ask(socket, 'POST', '/boot', bootWish(values)),
      values.datacenter === undefined ? ['datacenter'] : [],
    )
  }
  const server = (): string => {
    if (which === undefined) throw new ScenarioError(`${name} needs the name of a server`)
    return `/servers/${encodeURIComponent(which)}`
  }
  if (
    name === 'servers' ||
    name === 'counters' ||
    name === 'datacenters' ||
    name === 'clusters' ||
    name === 'bmcs'
  )
    return show(await ask(socket, 'GET', `/${name}`))
  if (name === 'power-on' || name === 'power-off')
    return show(await ask(socket, 'POST', `${server()}/${name}`))
  if (name === 'factory')
    return show(
      which === undefined
        ? await ask(socket, 'GET', '/factory')
        : which === 'ok'
          ? await ask(socket, 'DELETE', '/factory/fault')
          : await ask(socket, 'POST', '/factory/fault', fault(rest)),
    )
  if (name === 'speed')
    return show(
      which === undefined
        ? await ask(socket, 'GET', '/speed')
        : await ask(socket, 'PUT', '/speed', { speed: number('speed', which) }),
    )
  if (name === 'move')
    return show(
      await ask(
        socket,
        'POST',
        `${server()}/move`,
        more[0] === undefined ? {} : { address: more[0] },
      ),
    )
  if (name === 'remove') return show(await ask(socket, 'DELETE', server()))
  if (name === 'bmc')
    return show(
      more[0] === undefined
        ? await ask(socket, 'GET', `${server()}/bmc`)
        : await ask(socket, 'PUT', `${server()}/bmc`, { personality: more[0] }),
    )
  if (name === 'bmc-fault')
    return show(await ask(socket, 'POST', `${server()}/bmc/fault`, fault(more)))
  if (name === 'clear-bmc-faults') return show(await ask(socket, 'DELETE', `${server()}/bmc/fault`))
  if (name === 'clear-faults') return show(await ask(socket, 'DELETE', `${server()}/fault`))
  if (name === 'fault') return show(await ask(socket, 'POST', `${server()}/fault`, fault(more)))
  throw new ScenarioError(`There is no command "${name}"; --help lists them`)
}

/** `fault NAME KIND key=value …` */
const fault = ([kind, ...pairs]: string[]): object => {
  if (kind === undefined) throw new ScenarioError('fault needs a kind, for example hang')
  return {
    kind,
    ...Object.fromEntries(
      pairs.map((pair) => {
        const [key = '', ...value] = pair.split('=')
        const text = value.join('=')
        if (text === 'true' || text === 'false') return [key, text === 'true']
        return [key, /^-?\d+$/.test(text) ? Number(text) : text]
      }),
    ),
  }
}

const unreachable = (cause: unknown): string | null => {
  if (!(cause instanceof Error) || !('code' in cause) || !('address' in cause)) return null
  if (cause.code === 'EADDRINUSE')
    return `${String(cause.address)} is taken: another simulator, or another program on port ${'port' in cause ? String(cause.port) : ''}, runs on this machine. Stop it, or give other addresses with --subnet-offset`
  if (cause.code !== 'EADDRNOTAVAIL') return null
  return [
    `This system doesn't have the address ${String(cause.address)}. Simulated servers need 127.20.0.0/16; these lines add what twelve of them use:`,
    ...[1, 2].map(
      (block) => `  for i in $(seq 1 8); do sudo ifconfig lo0 alias 127.20.${block}.$i up; done`,
    ),
  ].join('\n')
}

try {
  const { values, positionals } = parse()
  if (values.help === true || positionals[0] === 'help') print(help)
  else if (positionals.length === 0 && values['boot-with'] === undefined) await serve(values)
  else await command(values, positionals)
} catch (cause) {
  say(unreachable(cause) ?? (cause instanceof Error ? cause.message : String(cause)))
  process.exitCode = cause instanceof ScenarioError ? 2 : 1
}
