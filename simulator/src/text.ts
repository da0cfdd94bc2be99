import { isObject } from './config/shape.ts'

/** Output of `--help`. */
export const help = `Simulated Talos servers: real gRPC and TLS on 127.20.0.0/16, no hardware behind them.

  npm run simulate -- [--servers N] [--scenario FILE] [--data DIR] [--seed TEXT] [--speed X] [--subnet-offset N] [--factory-port N]
      Starts the fleet and serves until it is stopped. Twelve servers in two datacenters by default.

  --servers N       how many servers (1 to 20000)
  --scenario FILE   YAML or JSON: number, hardware, versions, speed and faults (simulator/README.md)
  --data DIR        where disks and counters lie (default: $STEELYARD_DATA/simulator, or .steelyard/simulator)
  --seed TEXT       another fleet; the same seed always gives the same one
  --speed X         how much faster than the clock on the wall everything takes (default 1)
  --subnet-offset N every datacenter gets its addresses N blocks later: 127.20.(1+N).1 on, so that two simulators run beside each other (default 0)
  --factory-port N  port of the simulated image factory on 127.0.0.1 (default: the one of the last time, or a free one)

  npm run simulate -- --boot-with 'KERNEL COMMAND LINE' [--count N] [--data DIR]
      Switches new machines on, in the simulator that runs: they fetch what talos.config names and wait in maintenance.

  --count N         how many, all at once (default 1)
  --datacenter CODE, --talos-version V, --schematic ID, --hardware MODEL, --slowness X
                    where they stand, what their image is, what they are
  --uuid U, --serial S
                    what their boards say that they are
  --announce-uuid U, --announce-serial S, --announce-mac M
                    what they say of themselves in the URL, in place of the truth
  --never-answer    they announce themselves and can't be reached

Commands for one that runs (add --json for the whole answer):

  servers                        every server with its address, power and stage
  counters                       installs, applies, resets and bootstraps, per server and per cluster
  datacenters                    where the servers stand
  power-off NAME, power-on NAME  pulls the plug, puts it back; NAME may be an address or a UUID too
  fault NAME KIND [key=value …]  refuse, hang, drip, garbage (each port= stage= for_ms=), delay ms=, identity, time off_ms=,
                                 disks what=swapped|lost, late-disks ms=, slow-boot ms=, no-image for_ms=, vanish stage=, fail-install times= when=, endless-install for_ms=,
                                 endless-pull for_ms=, early-answer for_ms=, close-after-apply times=, refuse-apply times=,
                                 lost-reply method= times=, image-missing image= for_ms=,
                                 slow-pull image= ms= for_ms=,
                                 fail-upgrade times=, hang-upgrade for_ms=, bad-boot times=, boots-never-ready for_ms=,
                                 pod-crash image= for_ms=, component-fails component= config= for_ms=,
                                 etcd-alarm alarm=nospace|corrupt db_bytes=,
                                 slow-stop phase= ms= fails=true times=
  clear-faults NAME              ends all faults of a server
  bmcs                           management controllers: address, port, user name and password, fingerprint
  bmc NAME [PERSONALITY]         shows one, or makes it behave as another maker's: plain, no-sessions, late-on
  bmc-fault NAME KIND [key=value …]
                                 each for_ms=: slow ms=, hang, silent, refuse, unavailable retry_after_s=, sessions-full, locked, uuid-order,
                                 html, endless path=, redirect to= path=, clock off_ms=, null-power, two-systems, no-chassis, override-lost;
                                 certificate (a new one, at once);
                                 supply-without-input, fan-stopped, memory-errors, disk-predicts-failure (each number=), hot celsius=
  clear-bmc-faults NAME          ends all faults of a management controller
  move NAME [ADDRESS]            another address from its next boot on
  remove NAME                    takes a server away that was booted with --boot-with
  factory [KIND key=value … | ok]
                                 the image factory: down, slow ms=, refuse status=, nonsense what=page|half|other-id|endless
  clusters                       simulated clusters with their Services
  speed [X]                      shows or sets the speed`

/**
 * A response of the control socket as aligned columns, one line per object, without the columns in
 * `hidden`.
 */
export const table = (answer: unknown, hidden: readonly string[] = []): string => {
  if (!isObject(answer)) return String(answer)
  const lists = Object.entries(answer).filter(
    (entry): entry is [string, unknown[]] => Array.isArray(entry[1]) && entry[0] !== 'faults',
  )
  if (lists.length === 0) return rows([shown('address' in answer ? 'servers' : '', answer, hidden)])
  return lists
    .map(
      ([name, items]) =>
        `${name} (simulated)\n${rows(items.filter(isObject).map((item) => shown(name, item, hidden)))}`,
    )
    .join('\n\n')
}

const SHOWN: Record<string, string> = {
  bmcs: 'name address port userName password personality power sessions faults fingerprint',
  clusters: 'name hasQuorum loadBalancer services pools',
  servers:
    'name address datacenter power stage machineType talosVersion installedVersion hostname faults ' +
    'applies installs failedInstalls upgrades reboots resets bootstrapCalls bootstraps',
}

/** The shown fields of an object, by its kind. */
const shown = (
  what: string,
  item: Record<string, unknown>,
  hidden: readonly string[],
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(item)
      .filter(([key]) => (SHOWN[what]?.split(' ').includes(key) ?? true) && !hidden.includes(key))
      .map(([key, value]) => [key, short(value)]),
  )

const short = (value: unknown): string => {
  if (value === null || value === undefined) return '-'
  if (isObject(value)) return typeof value.code === 'string' ? value.code : JSON.stringify(value)
  if (Array.isArray(value))
    return value.map((item) => (isObject(item) ? named(item) : String(item))).join(', ') || '-'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/**
 * Text of a nested object: the kind of a fault, the name and addresses of a Service, the name of a
 * pool.
 */
const named = ({ kind, name, addresses, ...rest }: Record<string, unknown>): string => {
  if (typeof kind === 'string') return kind
  if (typeof name !== 'string') return JSON.stringify(rest)
  return Array.isArray(addresses) && addresses.length > 0 ? `${name} ${addresses.join('+')}` : name
}

const rows = (items: Record<string, string>[]): string => {
  const columns = Object.keys(items[0] ?? {})
  const width = (column: string): number =>
    Math.max(column.length, ...items.map((item) => (item[column] ?? '').length))
  const line = (cells: (column: string) => string): string =>
    columns
      .map((column) => cells(column).padEnd(width(column)))
      .join('  ')
      .trimEnd()
  return [
    line((column) => column),
    ...items.map((item) => line((column) => item[column] ?? '')),
  ].join('\n')
}
