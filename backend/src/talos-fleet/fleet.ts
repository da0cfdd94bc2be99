/**
 * All connections to servers: the dial policy decides whether an address may be dialled, the budget limits
 * concurrent dials, and the machine's identity is checked before anything else is sent.
 */
import { Problem } from '#contract/errors.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { apiPort, connectMaintenance, connectUnknown, connectSecure, readCertificate, type ReadCertificate } from '#talos/client/connect.ts'
import { TalosError } from '#talos/client/errors.ts'
import { type Identity, readIdentity } from '#talos/client/inventory.ts'
import type { Credentials } from '#talos/pki/certificates.ts'
import type { Budget, Lane } from './budget.ts'
import type { DialPolicy } from './dial-policy.ts'
import { readEverything, type Reading } from './reading.ts'

export const readDeadlineMs = 10_000

export interface ConnectOptions {
  readonly signal?: AbortSignal | undefined
  /** Default deadline of connecting and of each call, in ms; 10 s if not set. */
  readonly deadlineMs?: number | undefined
  /** How urgent it is; `act` by default. `held`: the caller has a place of the budget already, and keeps it to the end. */
  readonly lane?: Lane | 'held' | undefined
}

/** What answers at a server's address now. */
export type Presence = 'maintenance' | 'secured'

/** What is known of a server before it is dialled. */
export interface KnownServer {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly uuid: string | null
  readonly serial: string | null
}

/** The certificate that a machine showed when its identity was read. */
export interface Pin {
  readonly pem: string
  readonly fingerprint: string
}

/** Other hardware answered than the one that is known. Nothing was sent to it but questions. */
export class OtherHardware extends Problem {
  readonly found: Identity
  readonly fingerprint: string | null
  constructor(server: KnownServer, found: Identity, fingerprint: string | null) {
    super('identity_changed', `Other hardware answers at ${server.address} than ${server.name}: UUID ${found.uuid}, serial ${found.serial || 'unknown'}`)
    this.found = found
    this.fingerprint = fingerprint
  }
}

/** What was found at an unknown address. */
export interface Found {
  readonly identity: Identity
  readonly pin: Pin
  readonly reading: Reading
}

/** Certificates kept at once: each is about 1 KiB. */
const mostPins = 20_000

export type Fleet = ReturnType<typeof fleet>
export type ServerConnection = ReturnType<Fleet['connection']>

export function fleet({ policy, budget }: { policy: DialPolicy; budget: Budget }) {
  // With the hardware that was read under it: once a person says that the server is other hardware, the old one's certificate proves nothing.
  const pins = new Map<string, { readonly pin: Pin; readonly hardware: string }>()
  const hardwareOf = ({ uuid, serial }: KnownServer): string => `${uuid ?? ''} ${serial ?? ''}`
  const remember = (server: KnownServer, pin: Pin) => {
    pins.delete(server.id)
    pins.set(server.id, { pin, hardware: hardwareOf(server) })
    if (pins.size > mostPins) pins.delete(pins.keys().next().value!)
  }

  /** Checks the dialled literal once more; its error reaches the caller unchanged. */
  const dial = (host: string, port: number): void => policy.demand(host, port)
  const settings = ({ signal, deadlineMs = readDeadlineMs }: ConnectOptions) => ({ signal, deadlineMs, dial })
  const certificateOf = (address: string, { signal, deadlineMs = readDeadlineMs }: ConnectOptions): Promise<ReadCertificate> =>
    readCertificate({ host: address }, { timeoutMs: deadlineMs, dial, ...(signal && { signal }) })

  /** Runs in a place of the budget, unless the caller has one already. */
  const inLane = <T>({ lane = 'act', signal }: ConnectOptions, act: () => Promise<T>): Promise<T> => (lane === 'held' ? act() : budget.run(lane, act, signal))

  /** `act` holds its place only while it dials; contacts and probes hold it to their end, which their deadlines bound. */
  const place = <T>(options: ConnectOptions, open: () => Promise<TalosClient>, use: (client: TalosClient) => Promise<T>): Promise<T> => {
    const whole = async (client: TalosClient) => {
      try {
        return await use(client)
      } finally {
        client.close()
      }
    }
    return (options.lane ?? 'act') === 'act' ? inLane(options, open).then(whole) : inLane(options, async () => whole(await open()))
  }
  const checked = (server: KnownServer, found: Identity, fingerprint: string | null): void => {
    const isSame = server.uuid === null || (server.uuid === found.uuid && (server.serial === null || server.serial === found.serial))
    if (!isSame) throw new OtherHardware(server, found, fingerprint)
  }

  const inMaintenance = (address: string, options: ConnectOptions, pin: Pin) => connectMaintenance({ host: address }, { pem: pin.pem }, settings(options))

  /** A client on the connection on which the certificate was shown, and that certificate. */
  const fresh = async (address: string, options: ConnectOptions): Promise<{ pin: Pin; client: TalosClient }> => {
    const { shown, client } = await connectUnknown({ host: address }, settings(options))
    if (!client) throw new TalosError('permission_denied', 'it runs Talos with a configuration already, and only its cluster may ask it')
    return { pin: { pem: shown.pem, fingerprint: shown.fingerprint }, client }
  }

  const connection = (server: KnownServer) => {
    const { address } = server
    const openSecure = async (credentials: Credentials, options: ConnectOptions): Promise<TalosClient> => {
      policy.demand(address, apiPort)
      const client = await connectSecure({ host: address }, credentials, settings(options))
      try {
        checked(server, await readIdentity(client), null)
        return client
      } catch (error) {
        client.close()
        throw error
      }
    }
    /** Connects in maintenance: pins the certificate and repins only if the machine shows another one. */
    const begin = (options: ConnectOptions) => {
      policy.demand(address, apiPort)
      const known = pins.get(server.id)
      let pin = known?.hardware === hardwareOf(server) ? known.pin : undefined
      // Whether the identity was read under this certificate. What is about to be done to a machine asks again; a contact needn't.
      let isKnown = pin !== undefined && options.lane !== undefined && options.lane !== 'act'
      return {
        async open(): Promise<TalosClient> {
          if (pin) {
            try {
              return await inMaintenance(address, options, pin)
            } catch (error) {
              if (!(error instanceof TalosError && error.kind === 'certificate')) throw error
              pins.delete(server.id)
              isKnown = false
            }
          }
          const shown = await fresh(address, options)
          pin = shown.pin
          return shown.client
        },
        /** Throws OtherHardware if it isn't the known machine. */
        async check(client: TalosClient): Promise<Pin> {
          if (isKnown) return pin!
          checked(server, await readIdentity(client), pin!.fingerprint)
          remember(server, pin!)
          return pin!
        },
      }
    }

    return {
      nodeId: server.id,
      name: server.name,
      /** The dialled address. */
      address,

      /**
       * Reads the certificate only. `secured`: it asks for a client certificate.
       * @throws TalosError where nothing answers; Problem `dial_refused`
       */
      async presence(options: ConnectOptions = {}): Promise<Presence> {
        policy.demand(address, apiPort)
        return (await inLane(options, () => certificateOf(address, options))).mode
      },

      /**
       * One connection sequence in maintenance mode: the certificate is read and pinned, identity is read and must be the known one, then `act` runs.
       * @throws Problem `identity_changed` where other hardware answers (nothing is sent to it); TalosError
       */
      async maintenance<T>(act: (client: TalosClient, pin: Pin) => Promise<T>, options: ConnectOptions = {}): Promise<T> {
        const sequence = begin(options)
        return place(
          options,
          () => sequence.open(),
          async (client) => act(client, await sequence.check(client)),
        )
      },

      /** As `maintenance`, but the connection stays open until `close()`. */
      async openMaintenance(options: ConnectOptions = {}): Promise<TalosClient> {
        const sequence = begin(options)
        const client = await inLane(options, () => sequence.open())
        try {
          await sequence.check(client)
          return client
        } catch (error) {
          client.close()
          throw error
        }
      },

      /**
       * Mutual TLS with the cluster's credentials; the hardware's UUID is checked before `act` runs.
       * @throws Problem `identity_changed`; TalosError
       */
      secure: <T>(credentials: Credentials, act: (client: TalosClient) => Promise<T>, options: ConnectOptions = {}): Promise<T> =>
        place(options, () => openSecure(credentials, options), act),
      /** As `secure`, but the connection stays open until `close()`: for streams and watches. */
      openSecure: (credentials: Credentials, options: ConnectOptions = {}): Promise<TalosClient> => inLane(options, () => openSecure(credentials, options)),
    }
  }

  return {
    policy,
    budget,
    connection,
    /** Forgets the certificate of a server, so that its identity is read at the next contact. */
    forget: (nodeId: string) => void pins.delete(nodeId),
    /**
     * Asks an unknown address who it is, and reads everything of it on the same connection.
     * @throws TalosError (`secured` certificates: kind `permission_denied`); Problem `dial_refused`
     */
    probe: async (address: string, options: ConnectOptions = {}): Promise<Found> => {
      policy.demand(address, apiPort)
      return inLane({ lane: 'probe', ...options }, async () => {
        const { pin, client } = await fresh(address, options)
        try {
          return { identity: await readIdentity(client), pin, reading: await readEverything(client) }
        } finally {
          client.close()
        }
      })
    },
  }
}
