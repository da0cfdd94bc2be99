/** The connections to servers. */
import { networkInterfaces } from 'node:os'
import type { Platform } from '../../platform.ts'
import { budget } from '../../talos-fleet/budget.ts'
import { dialPolicy } from '../../talos-fleet/dial-policy.ts'
import { type Fleet, fleet as makeFleet } from '../../talos-fleet/fleet.ts'

const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map((a) => a.address))

export const serverFleet = ({ config, tracing }: Pick<Platform, 'config' | 'tracing'>): Fleet =>
  makeFleet({
    policy: dialPolicy({
      networks: config.dialNetworks,
      own: ownAddresses,
      simulate: config.simulate !== undefined,
    }),
    budget: budget(),
    tracing,
  })
