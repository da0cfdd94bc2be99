/** A PostgreSQL of the system's packages that offers TLS, with authorities made by openssl. */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort, postgresAccount, systemPrograms } from './postgres-pair.ts'

/** The database that a session reaches only with a certificate of its own. */
export const guarded = 'guarded'

export async function postgresTls() {
  const bin = systemPrograms()
  const as = postgresAccount()
  const folder = mkdtempSync(join(tmpdir(), 'sy-tls-'))
  chmodSync(folder, 0o755)
  const run = (program: string, args: readonly string[], more: object = {}): void => {
    const ran = spawnSync(program, args, { cwd: folder, encoding: 'utf8', ...more })
    if (ran.status !== 0) throw new Error(`${program} ${args.join(' ')}: ${ran.stderr}`)
  }
  const own = (file: string): void => {
    if (as.uid !== undefined) chownSync(file, as.uid, as.gid!)
  }
  /** No argument contains a space. */
  const openssl = (line: string): void => run('openssl', line.split(' '))
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
  const authority = (name: string): void =>
    openssl(`req -x509 ${key} -days 2 -subj /CN=${name} -keyout ${name}.key -out ${name}.crt`)
  const signed = (name: string, by: string, subject: string, extension: string): void => {
    openssl(`req ${key} -subj ${subject} -addext ${extension} -keyout ${name}.key -out ${name}.csr`)
    openssl(
      `x509 -req -days 2 -in ${name}.csr -copy_extensions copy -CA ${by}.crt -CAkey ${by}.key -CAcreateserial -out ${name}.crt`,
    )
    chmodSync(join(folder, `${name}.key`), 0o600)
  }
  authority('ours')
  authority('strange')
  signed('server', 'ours', '/CN=database', 'subjectAltName=DNS:localhost')
  signed('client', 'ours', '/CN=steelyard', 'subjectAltName=DNS:steelyard')
  own(join(folder, 'server.key'))

  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  own(data)
  run(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'steelyard', '--auth=trust', '-E', 'UTF8', '--locale=C'],
    as,
  )
  writeFileSync(
    join(data, 'pg_hba.conf'),
    `hostssl ${guarded} all all cert\nhost ${guarded} all all reject\nhost all all all trust\n`,
  )
  const port = await freePort()
  const file = (name: string): string => join(folder, name)
  const settings = {
    listen_addresses: 'localhost',
    port: String(port),
    unix_socket_directories: '',
    ssl: 'on',
    ssl_cert_file: file('server.crt'),
    ssl_key_file: file('server.key'),
    ssl_ca_file: file('ours.crt'),
  }
  const child = spawn(
    join(bin, 'postgres'),
    [
      '-D',
      data,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    { ...as, cwd: folder, stdio: 'ignore' },
  )
  const ask = async <T extends object>(text: string): Promise<T[]> => {
    const client = new Client({ host: 'localhost', port, user: 'steelyard', database: 'postgres' })
    await client.connect()
    try {
      return (await client.query<T>(text)).rows
    } finally {
      await client.end()
    }
  }
  for (let tries = 0; ; tries++)
    try {
      await ask(`create database ${guarded}`)
      break
    } catch (error) {
      if (tries > 150) throw error
      await pause(200)
    }
  return {
    port,
    file,
    /** Whether the sessions of other clients in the database use TLS, and the name in their certificates. */
    sessions: (database: string) =>
      ask<{ ssl: boolean; client_dn: string | null }>(
        `select distinct ssl, client_dn from pg_stat_ssl join pg_stat_activity using (pid) where datname = '${database}' and pid <> pg_backend_pid()`,
      ),
    async stop(): Promise<void> {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGQUIT')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
