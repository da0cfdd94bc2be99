/**
 * All connections to servers: the dial policy decides whether an address may be dialled, the budget
 * limits concurrent dials, and the machine's identity is checked before anything else is sent.
 */
import { Problem } from '#contract/errors.ts'
import { noUuid } from '#contract/servers/identity.ts'
import type { TalosClient } from '#talos/client/client.ts'
import {
  apiPort,
  connectMaintenance,
  connectUnknown,
  connectSecure,
  readCertificate,
  type ReadCertificate,
} from '#talos/client/connect.ts'
import { TalosError } from '#talos/client/errors.ts'
import { type Identity, readIdentity, readMacs } from '#talos/client/inventory.ts'
import type { Credentials } from '#talos/pki/certificates.ts'
import { tracedCalls } from '../tracing/calls.ts'
import { inSpan, type Tracing } from '../tracing/tracing.ts'
import type { Budget, Lane } from './budget.ts'
import type { DialPolicy } from './dial-policy.ts'
import { readEverything, type Reading } from './reading.ts'

export const readDeadlineMs = 10_000

export interface ConnectOptions {
  readonly signal?: AbortSignal | undefined
  /** Default deadline of connecting and of each call, in ms; 10 s if not set. */
  readonly deadlineMs?: number | undefined
  /**
   * Priority of the connection; `act` by default. `held`: the caller already has a place of the
   * budget, and keeps it until it has finished. In every lane but `act` the caller only reads.
   */
  readonly lane?: Lane | 'held' | undefined
}

const onlyReads = ({ lane = 'act' }: ConnectOptions): boolean => lane !== 'act'

/** Mode of the machine that answers at a server's address now. */
export type Presence = 'maintenance' | 'secured'

/** Known properties of a server before it is dialled. */
export interface KnownServer {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly uuid: string | null
  readonly serial: string | null
  /**
   * A MAC address of the machine, if its UUID and serial number don't tell it apart from others.
   */
  readonly identity_mac?: string | null
}

/** The certificate that a machine showed when its identity was read. */
export interface Pin {
  /** SHA-256 of the certificate. */
  readonly sha256: string
  readonly fingerprint: string
}

/**
 * The hardware that answered isn't that of the known server. Only read requests were sent to it.
 */
export class OtherHardware extends Problem {
  readonly found: Identity
  /**
   * Of its maintenance certificate; null if it proved by mutual TLS that it has a certificate of
   * the server's cluster.
   */
  readonly fingerprint: string | null
  constructor(server: KnownServer, found: Identity, fingerprint: string | null) {
    super(
      'identity_changed',
      `Other hardware than that of ${server.name} answers at ${server.address}: UUID ${found.uuid}, serial ${found.serial || 'unknown'}`,
    )
    this.found = found
    this.fingerprint = fingerprint
  }
}

/** How the hardware that answers instead of the known one becomes known to users. */
export interface Alarm {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /**
   * Stores the alarm, before the caller of the connection learns of the other hardware. `askedAt`:
   * when the connection began, in ms since 1970.
   */
  readonly raise: (met: OtherHardware, askedAt: number) => Promise<void>
}

/** The machine found at an unknown address. */
export interface Found {
  readonly identity: Identity
  readonly pin: Pin
  readonly reading: Reading
}

/** Maximum number of remembered certificates. */
const mostPins = 20_000

export type Fleet = ReturnType<typeof fleet>
export type ServerConnection = ReturnType<Fleet['connection']>

export function fleet({
  policy,
  budget,
  tracing,
}: {
  policy: DialPolicy
  budget: Budget
  tracing?: Tracing | undefined
}) {
  // Each certificate is stored with the hardware that showed it. After a user has confirmed other
  // hardware for the server, the certificate isn't used.
  const pins = new Map<string, { readonly pin: Pin; readonly hardware: string }>()
  const hardwareOf = ({ uuid, serial, identity_mac }: KnownServer): string =>
    `${uuid ?? ''} ${serial ?? ''} ${identity_mac ?? ''}`
  const remember = (server: KnownServer, pin: Pin) => {
    pins.delete(server.id)
    pins.set(server.id, { pin, hardware: hardwareOf(server) })
    if (pins.size > mostPins) pins.delete(pins.keys().next().value!)
  }

  /**
   * Called right before dialling: checks the address again. The error reaches the caller unchanged.
   */
  const dial = (host: string, port: number): void => policy.demand(host, port)
  const settings = (address: string, { signal, deadlineMs = readDeadlineMs }: ConnectOptions) => ({
    signal,
    deadlineMs,
    dial,
    ...(tracing && { around: tracedCalls(tracing, address, apiPort) }),
  })
  const dialling = <T>(address: string, act: () => Promise<T>): Promise<T> =>
    inSpan(
      tracing?.child('connect', {
        kind: 'client',
        attributes: { 'server.address': address, 'server.port': apiPort },
      }),
      act,
    )
  /** For machines in maintenance: reading is public there, a configuration that is sent is not. */
  const maintenanceSettings = (address: string, options: ConnectOptions) => ({
    ...settings(address, options),
    isPublic: onlyReads(options),
  })
  const certificateOf = (
    address: string,
    { signal, deadlineMs = readDeadlineMs }: ConnectOptions,
  ): Promise<ReadCertificate> =>
    dialling(address, () =>
      readCertificate(
        { host: address },
        { timeoutMs: deadlineMs, dial, ...(signal && { signal }) },
      ),
    )

  /** Runs `act` in a place of the budget, unless the caller already has one. */
  const inLane = <T>({ lane = 'act', signal }: ConnectOptions, act: () => Promise<T>): Promise<T> =>
    lane === 'held' ? act() : budget.run(lane, act, signal)

  /**
   * In the lane `act`, a connection holds its place only while it dials; contacts and probes hold
   * their place to the end, limited by their deadlines.
   */
  const place = <T>(
    options: ConnectOptions,
    open: () => Promise<TalosClient>,
    use: (client: TalosClient) => Promise<T>,
  ): Promise<T> => {
    const whole = async (client: TalosClient) => {
      try {
        return await use(client)
      } finally {
        client.close()
      }
    }
    return onlyReads(options)
      ? inLane(options, async () => whole(await open()))
      : inLane(options, open).then(whole)
  }
  const checked = async (
    server: KnownServer,
    client: TalosClient,
    fingerprint: string | null,
  ): Promise<void> => {
    // Of a server with a UUID, a reading without one is no sign of other hardware.
    const mayLack = server.uuid === null || server.uuid === noUuid
    const found = await readIdentity(client, mayLack ? { without: noUuid } : {})
    const isAlike =
      server.uuid === null ||
      (server.uuid === found.uuid && (server.serial === null || server.serial === found.serial))
    const mac = server.identity_mac ?? null
    if (!isAlike || (mac !== null && !(await readMacs(client)).includes(mac)))
      throw new OtherHardware(server, found, fingerprint)
  }

  const inMaintenance = (address: string, options: ConnectOptions, pin: Pin) =>
    dialling(address, () =>
      connectMaintenance({ host: address }, pin, maintenanceSettings(address, options)),
    )

  /**
   * Connects to an unknown machine. Returns the client and the certificate shown on its connection.
   */
  const fresh = async (
    address: string,
    options: ConnectOptions,
  ): Promise<{ pin: Pin; client: TalosClient }> => {
    const { shown, client } = await dialling(address, () =>
      connectUnknown({ host: address }, maintenanceSettings(address, options)),
    )
    if (!client)
      throw new TalosError(
        'permission_denied',
        'it runs Talos with a configuration already, and only its cluster may query it',
      )
    return { pin: { sha256: shown.sha256, fingerprint: shown.fingerprint }, client }
  }

  /** @param alarm raised if other hardware answers; without it, only the caller learns of that */
  const connection = (server: KnownServer, alarm?: Alarm) => {
    const { address } = server
    /**
     * Reads the identity. The promise rejects only after the alarm is stored, so no caller reports
     * other hardware before the server shows it.
     */
    const identify = async (
      client: TalosClient,
      fingerprint: string | null,
      askedAt: number | undefined,
    ): Promise<void> => {
      try {
        await checked(server, client, fingerprint)
      } catch (error) {
        if (error instanceof OtherHardware) {
          // Contacts trust a certificate with which the identity was read, and would report that
          // the known hardware answers.
          pins.delete(server.id)
          await alarm?.raise(error, askedAt!)
        }
        throw error
      }
    }
    const openSecure = async (
      credentials: Credentials,
      options: ConnectOptions,
    ): Promise<TalosClient> => {
      policy.demand(address, apiPort)
      const askedAt = alarm?.now()
      const client = await dialling(address, () =>
        connectSecure({ host: address }, credentials, settings(address, options)),
      )
      try {
        await identify(client, null, askedAt)
        return client
      } catch (error) {
        client.close()
        throw error
      }
    }
    /**
     * Connects in maintenance mode: pins the certificate, and pins again only if the machine shows
     * another one.
     */
    const begin = (options: ConnectOptions) => {
      policy.demand(address, apiPort)
      const askedAt = alarm?.now()
      const known = pins.get(server.id)
      let pin = known?.hardware === hardwareOf(server) ? known.pin : undefined
      // Whether the identity was already read with this certificate and needn't be read again. An
      // action on the machine always reads it again.
      let isKnown = pin !== undefined && onlyReads(options)
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
        /** Throws OtherHardware if the machine isn't the known one. */
        async check(client: TalosClient): Promise<Pin> {
          if (isKnown) return pin!
          await identify(client, pin!.fingerprint, askedAt)
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
       * Reads only the certificate. `secured`: the machine requires a client certificate.
       * @throws TalosError if nothing answers; Problem `dial_refused`
       */
      async presence(options: ConnectOptions = {}): Promise<Presence> {
        policy.demand(address, apiPort)
        return (await inLane(options, () => certificateOf(address, options))).mode
      },

      /**
       * Reads the certificate of the machine's API without verifying it. @throws TalosError if
       * nothing answers; Problem `dial_refused`
       */
      async certificate(options: ConnectOptions = {}): Promise<ReadCertificate> {
        policy.demand(address, apiPort)
        return inLane(options, () => certificateOf(address, options))
      },

      /**
       * One connection sequence in maintenance mode: reads and pins the certificate, reads the
       * identity, which must be the known one, then runs `act`.
       * @throws Problem `identity_changed` if other hardware answers (only read requests are sent
       * to it); TalosError
       */
      async maintenance<T>(
        act: (client: TalosClient, pin: Pin) => Promise<T>,
        options: ConnectOptions = {},
      ): Promise<T> {
        const sequence = begin(options)
        return place(
          options,
          () => sequence.open(),
          async (client) => act(client, await sequence.check(client)),
        )
      },

      /** Like `maintenance`, but the connection stays open until `close()`. */
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
       * Mutual TLS with the cluster's credentials; the hardware's UUID is checked before `act`
       * runs.
       * @throws Problem `identity_changed`; TalosError
       */
      secure: <T>(
        credentials: Credentials,
        act: (client: TalosClient) => Promise<T>,
        options: ConnectOptions = {},
      ): Promise<T> => place(options, () => openSecure(credentials, options), act),
      /** Like `secure`, but the connection stays open until `close()`: for streams and watches. */
      openSecure: (credentials: Credentials, options: ConnectOptions = {}): Promise<TalosClient> =>
        inLane(options, () => openSecure(credentials, options)),
    }
  }

  return {
    policy,
    budget,
    connection,
    /**
     * Remembers the certificate of a server whose identity was read with it, and whose reading is
     * stored.
     */
    remember,
    /** Forgets the certificate of a server, so that its identity is read at the next contact. */
    forget: (nodeId: string) => void pins.delete(nodeId),
    /**
     * Reads the identity and all data of the machine at an unknown address on one connection.
     * @throws TalosError, with kind `permission_denied` if the machine requires a client
     * certificate; Problem `dial_refused`
     */
    probe: async (address: string, options: ConnectOptions = {}): Promise<Found> => {
      policy.demand(address, apiPort)
      const probing = { lane: 'probe', ...options } as const
      return inLane(probing, async () => {
        const { pin, client } = await fresh(address, probing)
        try {
          const [identity, reading] = await Promise.all([
            readIdentity(client, { without: noUuid }),
            readEverything(client),
          ])
          return { identity, pin, reading }
        } finally {
          client.close()
        }
      })
    },
  }
}
