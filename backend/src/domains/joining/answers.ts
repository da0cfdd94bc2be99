/**
 * The documents that a booting server is answered with. Talos boots into maintenance with any valid document that is no whole configuration; an empty answer
 * or any status but 200 would keep it from there for hours (`internal/app/machined/pkg/runtime/v1alpha1/platform/metal`, `pkg/download`).
 * HostnameConfig is known from Talos 1.12 on, with exactly one of `auto` and `hostname` (`pkg/machinery/config/types/network/hostname.go`).
 */
import { randomBytes } from 'node:crypto'

const head = 'apiVersion: v1alpha1\nkind: HostnameConfig\n'

/** For machines that are not registered: a host name from the machine's own identity, as Talos uses without any document. */
export const harmless = `${head}auto: stable\n`

/** The API of the machine that was given this must show the name before it is believed. */
export const named = (hostName: string): string => `${head}hostname: ${hostName}\n`

/** A DNS label with 80 random bits, which can't be guessed in the minutes of its validity. */
export const oneTimeHostName = (): string => `sy-${randomBytes(10).toString('hex')}`
