import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import * as z from 'zod/mini'
import { bmcFaultSchema } from '../bmc/faults.ts'
import { PERSONALITY_NAMES } from '../bmc/personality.ts'
import { presentBmc } from '../bmc/present.ts'
import { wholeBody } from '../body.ts'
import { MAX_SPEED, MIN_SPEED } from '../clock.ts'
import { factoryFaultSchema, type Factory } from '../factory/serve.ts'
import { faultSchema } from '../fleet/faults.ts'
import { bootSchema } from '../fleet/booted.ts'
import { GrowError } from '../grow.ts'
import { Refusal } from '../kubernetes/refusal.ts'
import { addFault, clearFaults } from '../machine/trouble.ts'
import { ApplyConfigurationRequest_Mode as ApplyMode } from '#talos/proto/gen/machine/machine_pb.ts'
import { applyConfiguration } from '../machine/apply.ts'
import type { Machine } from '../machine/machine.ts'
import type { Simulator } from '../start.ts'
import { presentAddress, presentBooted, presentCounters, presentServer } from './present.ts'
import { LOAD_BALANCERS } from '../kubernetes/balancing/definitions.ts'
import { clustersOf, handOn } from '../kubernetes/hand.ts'
import type { World } from '../world.ts'

/** A refused call of the control socket, with its HTTP status. */
class Refused extends Error {
  override name = 'Refused'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Validates a body. Throws `Refused` (422) that names every wrong field. */
const parsed = <Schema extends z.ZodMiniType>(schema: Schema, value: unknown): z.output<Schema> => {
  const result = schema.safeParse(value)
  if (!result.success)
    throw new Refused(
      422,
      result.error.issues
        .map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
        .join('; '),
    )
  return result.data
}

const MAX_BODY_BYTES = 64 * 1024
const speedSchema = z.strictObject({
  speed: z.number().check(z.minimum(MIN_SPEED), z.maximum(MAX_SPEED)),
})

/** The control socket: HTTP and JSON on a Unix socket that only the socket's owner can open. */
export const openControl = async (simulator: Simulator): Promise<{ close(): Promise<void> }> => {
  await removeStale(simulator.control)
  const server = createServer((request, response) => void handle(simulator, request, response))
  const mask = process.umask(0o077)
  try {
    server.listen(simulator.control)
    await once(server, 'listening')
  } finally {
    process.umask(mask)
  }
  return { close: () => close(server) }
}

const close = async (server: Server): Promise<void> => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}

/** Removes the socket of a killed simulator. Throws if a simulator still answers on the socket. */
const removeStale = async (path: string): Promise<void> => {
  const answers = await new Promise<boolean>((resolve) => {
    const socket = connect(path)
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
  if (answers) throw new Error(`Another simulator uses this folder: ${path} answers`)
  rmSync(path, { force: true })
}

const handle = async (
  simulator: Simulator,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  let status = 200
  let answer: unknown
  try {
    answer = await route(simulator, request)
  } catch (cause) {
    status =
      cause instanceof Refused
        ? cause.status
        : cause instanceof GrowError
          ? 409
          : cause instanceof Refusal
            ? cause.code
            : 500
    answer = { error: cause instanceof Error ? cause.message : String(cause) }
  }
  const body = JSON.stringify(answer)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

const route = async (simulator: Simulator, request: IncomingMessage): Promise<unknown> => {
  const [, noun, which, act, ...more] = (request.url ?? '/')
    .split('?')[0]!
    .split('/')
    .map(decodeURIComponent)
  const call = `${request.method} /${noun}`
  if (noun === 'clusters') return clusterCall(simulator.world, request, [which, act, ...more])
  if (noun === 'servers' && which !== undefined && act === 'bmc')
    return bmcCall(simulator, find(simulator, which), request, more)
  if (more.length > 0) throw new Refused(404, 'There is no such call')
  if (which === undefined) {
    if (call === 'GET /servers')
      return { simulated: true, servers: simulator.servers.map(presentServer) }
    if (call === 'GET /addresses')
      return { simulated: true, servers: simulator.servers.map(presentAddress) }
    if (call === 'POST /boot')
      return {
        simulated: true,
        servers: (await simulator.boot(parsed(bootSchema, await readJson(request)))).map(
          presentBooted,
        ),
      }
    if (call === 'GET /bmcs') return { simulated: true, bmcs: simulator.bmcs.all.map(presentBmc) }
    if (call === 'GET /counters') return presentCounters(simulator.world)
    if (call === 'GET /datacenters') return { simulated: true, datacenters: simulator.places }
    if (call === 'GET /factory') return presentFactory(simulator.factory)
    if (call === 'GET /speed') return { speed: simulator.clock.speed }
    if (call === 'PUT /speed') {
      simulator.clock.setSpeed(parsed(speedSchema, await readJson(request)).speed)
      return { speed: simulator.clock.speed }
    }
    throw new Refused(404, 'There is no such call')
  }
  if (noun === 'factory' && which === 'fault' && act === undefined)
    return factoryFault(simulator.factory, request)
  if (noun !== 'servers') throw new Refused(404, 'There is no such call')
  const machine = find(simulator, which)
  if (request.method === 'GET' && act === undefined) return presentServer(machine)
  if (request.method === 'POST' && act === 'power-on') machine.lifecycle.powerOn()
  else if (request.method === 'POST' && act === 'move') return move(simulator, machine, request)
  else if (request.method === 'DELETE' && act === undefined) {
    await simulator.remove(machine)
    return { simulated: true }
  } else if (request.method === 'POST' && act === 'power-off') await machine.lifecycle.powerOff()
  else if (request.method === 'POST' && act === 'configuration')
    await editConfiguration(machine, parsed(editSchema, await readJson(request)))
  else if (request.method === 'POST' && act === 'fault')
    await addFault(machine, parsed(faultSchema, await readJson(request)))
  else if (request.method === 'DELETE' && act === 'fault') await clearFaults(machine)
  else throw new Refused(404, 'There is no such call')
  return presentServer(machine)
}

const bmcSchema = z.strictObject({ personality: z.enum(PERSONALITY_NAMES) })

/** `/servers/{id}/bmc[/fault]` */
const bmcCall = async (
  simulator: Simulator,
  machine: Machine,
  request: IncomingMessage,
  more: readonly string[],
): Promise<unknown> => {
  const bmc = simulator.bmcs.of(machine)
  if (!bmc) throw new Refused(404, `${machine.plan.name} has no BMC`)
  const call = [request.method, ...more].join(' ')
  if (call === 'PUT') bmc.become(parsed(bmcSchema, await readJson(request)).personality)
  else if (call === 'POST fault')
    await bmc.addFault(parsed(bmcFaultSchema, await readJson(request)))
  else if (call === 'DELETE fault') await bmc.clearFaults()
  else if (call !== 'GET') throw new Refused(404, 'There is no such call')
  return presentBmc(bmc)
}

const editSchema = z.strictObject({ replace: z.string().check(z.minLength(1)), by: z.string() })

/** Changes a configuration as an admin with talosctl would. */
const editConfiguration = async (
  machine: Machine,
  { replace, by }: z.infer<typeof editSchema>,
): Promise<void> => {
  const before = machine.config?.text
  if (!before?.includes(replace))
    throw new Refused(409, 'The configuration does not contain that text')
  const text = before.replace(replace, () => by)
  await applyConfiguration(machine, {
    text,
    mode: ApplyMode.AUTO,
    dryRun: false,
    tryForMs: 0,
    isAdmin: true,
  })
}

const moveSchema = z.strictObject({ address: z.optional(z.string()) })

/** Sets the address that a machine has from its next boot on. */
const move = async (
  simulator: Simulator,
  machine: Machine,
  request: IncomingMessage,
): Promise<object> => {
  const { address } = parsed(moveSchema, await readJson(request))
  return {
    simulated: true,
    name: machine.plan.name,
    address: machine.plan.address,
    nextAddress: await simulator.move(machine, address),
  }
}

const presentFactory = ({ url, faulty, counters }: Factory): object => ({
  simulated: true,
  url,
  fault: faulty,
  ...counters,
})

const factoryFault = async (factory: Factory, request: IncomingMessage): Promise<object> => {
  if (request.method === 'POST')
    await factory.fault(parsed(factoryFaultSchema, await readJson(request)))
  else if (request.method === 'DELETE') await factory.fault(null)
  else throw new Refused(404, 'There is no such call')
  return presentFactory(factory)
}

const find = (simulator: Simulator, which: string): Simulator['servers'][number] => {
  try {
    return simulator.server(which)
  } catch (cause) {
    throw new Refused(404, cause instanceof Error ? cause.message : String(cause))
  }
}

const readJson = async (request: IncomingMessage): Promise<unknown> => {
  const body = await wholeBody(
    request,
    MAX_BODY_BYTES,
    () => new Refused(413, 'The body is too large'),
  )
  if (body.length === 0) return {}
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw new Refused(400, 'The body is not JSON')
  }
}

const name = z
  .string()
  .check(
    z.regex(
      /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/,
      'a name of Kubernetes: small letters, digits and hyphens',
    ),
  )
const serviceSchema = z.strictObject({
  name,
  namespace: z._default(name, 'default'),
  ports: z._default(
    z.array(z.int().check(z.minimum(1), z.maximum(65_535))).check(z.minLength(1)),
    [443],
  ),
  labels: z.optional(z.record(z.string(), z.string())),
  annotations: z.optional(z.record(z.string(), z.string())),
})
const workloadSchema = z.strictObject({
  name: z._default(name, 'counter'),
  replicas: z._default(z.int().check(z.minimum(1), z.maximum(100)), 3),
  min_available: z._default(z.int().check(z.minimum(0), z.maximum(100)), 2),
})
const deprecatedSchema = z.strictObject({
  group: z._default(z.string(), ''),
  version: z.string().check(z.minLength(1)),
  resource: z.string().check(z.minLength(1)),
  subresource: z._default(z.string(), ''),
  removed_release: z.string().check(z.regex(/^1\.\d+$/, 'a minor of Kubernetes, such as 1.37')),
})
const loadBalancerSchema = z.strictObject({ load_balancer: z.enum(LOAD_BALANCERS) })
const changeSchema = z.record(z.string(), z.unknown())

/**
 * Calls about simulated clusters: `/clusters[/NAME[/services[/NAMESPACE/NAME] | /load-balancer |
 * /objects/PLURAL/NAME]]`.
 */
const clusterCall = async (
  world: World,
  request: IncomingMessage,
  [which, noun, ...rest]: (string | undefined)[],
): Promise<unknown> => {
  const call = `${request.method} ${noun ?? ''}`
  if (which === undefined && request.method === 'GET')
    return { simulated: true, clusters: clustersOf(world).map((hand) => hand.show()) }
  const hand = which === undefined ? undefined : handOn(world, which)
  if (!hand) throw new Refused(404, `There is no simulated cluster ${which ?? ''}`)
  const [first, second] = rest
  if (call === 'GET ' && rest.length === 0) return hand.show()
  if (call === 'PUT load-balancer' && rest.length === 0)
    hand.setLoadBalancer(parsed(loadBalancerSchema, await readJson(request)).load_balancer)
  else if (call === 'POST services' && rest.length === 0) {
    const { labels, annotations, ...wish } = parsed(serviceSchema, await readJson(request))
    hand.addService({ ...wish, ...(labels && { labels }), ...(annotations && { annotations }) })
  } else if (call === 'DELETE services' && first !== undefined && second !== undefined)
    hand.removeService(first, second)
  else if (call === 'POST workloads' && rest.length === 0) {
    const { min_available: minAvailable, ...wish } = parsed(workloadSchema, await readJson(request))
    hand.addWorkload({ ...wish, minAvailable })
  } else if (call === 'POST deprecated-apis' && rest.length === 0)
    hand.callDeprecated(parsed(deprecatedSchema, await readJson(request)))
  else if (call === 'PATCH objects' && first !== undefined && second !== undefined)
    hand.edit(first, second, parsed(changeSchema, await readJson(request)))
  else if (call === 'DELETE objects' && first !== undefined && second !== undefined)
    hand.remove(first, second)
  else throw new Refused(404, 'There is no such call')
  return hand.show()
}
