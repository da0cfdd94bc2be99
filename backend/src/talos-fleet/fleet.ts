/**
 * Connections to servers. Whoever talks to a machine does it through here: the dial policy decides whether a packet may leave, the budget
 * how many dials are open at once, and the identity of what answers is checked before anything else is said to it.
 */
import type { TalosClient } from '#talos/client/connect.ts'
import type { Credentials } from '#talos/pki/clients.ts'

export interface ConnectOptions {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for each call; 10 s by default, apply asks for 60 s. */
  readonly deadlineMs?: number | undefined
}

/** What answers at a server's address now. */
export type Presence = 'maintenance' | 'secured'

export interface ServerConnection {
  readonly nodeId: string
  readonly name: string
  /** The dialled address. */
  readonly address: string
  /**
   * Reads the certificate only. `secured`: it asks for a client certificate.
   * @throws TalosError where nothing answers; Problem `dial_refused`
   */
  presence(options?: ConnectOptions): Promise<Presence>
  /**
   * One connection sequence in maintenance mode: the certificate is read and pinned, identity is read and must be the known one, then `act` runs.
   * @throws Problem `identity_changed` where other hardware answers (nothing is sent to it); TalosError
   */
  maintenance<T>(act: (client: TalosClient) => Promise<T>, options?: ConnectOptions): Promise<T>
  /**
   * Mutual TLS with the cluster's credentials; the hardware's UUID is checked before `act` runs.
   * @throws Problem `identity_changed`; TalosError
   */
  secure<T>(credentials: Credentials, act: (client: TalosClient) => Promise<T>, options?: ConnectOptions): Promise<T>
}
