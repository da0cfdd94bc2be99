/**
 * Every setting of the program, in the order in which docs/running/settings.md lists them. The page's
 * table is made from this one (`npm run generate:settings`).
 */
import { tracingSettings } from './tracing/settings.ts'

export interface SettingRow {
  /** The value if the setting isn't given. */
  readonly fallback?: string
  /** What the page shows as the default, if that isn't a fixed value; Markdown. */
  readonly shown?: string
  /** What it does; Markdown, with links as seen from docs/running. */
  readonly about: string
}

export const settings = {
  HOST: {
    fallback: '127.0.0.1',
    about:
      'Address to listen on. An address that other machines can reach is refused without TLS, a trusted proxy, or `STEELYARD_INSECURE=1`.',
  },
  PORT: {
    fallback: '8080',
    about:
      'Port to listen on. 0 takes a free port; then servers can announce themselves only if `STEELYARD_PUBLIC_URL` is set. `npm start` takes the first free port from 8080 on, and keeps it.',
  },
  STEELYARD_DATA: {
    fallback: '.steelyard',
    about:
      "Folder of all data that must be kept. As root, if the [database's account](../operations.md#the-databases-account) can't enter the working directory: `/var/lib/steelyard`.",
  },
  DATABASE_URL: {
    about:
      '`postgresql://` URL of your own PostgreSQL, 15 or newer, as libpq reads it: several hosts with `target_session_attrs`, `sslmode`, `sslrootcert` ([high availability](../high-availability.md)). Without it, the embedded one.',
  },
  STEELYARD_ADMIN_EMAIL: { about: 'Email of the first user, who is created if there is none yet.' },
  STEELYARD_ADMIN_PASSWORD: { about: 'Password of the first user, 12 to 128 characters.' },
  STEELYARD_KEY_FILE: {
    shown: '`key` in the data folder',
    about: 'Key that encrypts secrets. The first start creates it with mode 0600.',
  },
  STEELYARD_SIMULATE: {
    about:
      'Number of simulated servers, or a scenario file. `npm start` sets 20 and furnishes the demo, unless this is set. Never beside real servers.',
  },
  STEELYARD_DIAL_NETWORKS: {
    about: 'CIDRs, comma-separated, in which servers may be dialled. Without it, none.',
  },
  STEELYARD_BMC_NETWORKS: {
    about:
      'CIDRs, comma-separated, that BMCs may be in, such as `10.9.8.0/24`. Without it, none. Separate from `STEELYARD_DIAL_NETWORKS`: servers and their BMCs are on different networks.',
  },
  STEELYARD_STORE_FOLDERS: {
    about:
      'Folders that may contain [stores](../snapshots.md#stores): absolute paths, comma-separated. Default: only `stores` in the data folder.',
  },
  STEELYARD_STORE_NETWORKS: {
    about:
      'Networks that may contain the endpoint of an S3 store, such as `10.9.0.0/24`. Public addresses over HTTPS need no entry; addresses of this machine and private addresses do.',
  },
  STEELYARD_ALERT_NETWORKS: {
    about:
      'Networks that may contain a webhook, a mail server or an Alertmanager, such as `10.9.0.0/24`. Public addresses over an encrypted connection need no entry; addresses of this machine and private addresses do.',
  },
  STEELYARD_BACKUP_PASSPHRASE_FILE: {
    about:
      'File whose first line is the passphrase of [backups in stores](../snapshots.md#backups-of-steelyard), readable by its owner only.',
  },
  STEELYARD_TLS_CERT: { about: 'PEM file with the certificate to serve HTTPS with.' },
  STEELYARD_TLS_KEY: { about: 'PEM file with its private key.' },
  STEELYARD_TRUSTED_PROXIES: {
    about: 'CIDRs, comma-separated, of proxies whose `X-Forwarded-For` is believed.',
  },
  STEELYARD_METRICS_NETWORKS: {
    about:
      'CIDRs, comma-separated, from which `/metrics` may be read, in addition to this machine itself. The metrics name clusters, servers and subnets.',
  },
  STEELYARD_CONSOLE_ORIGINS: {
    about:
      'Origins, comma-separated, of consoles that are served elsewhere and may call this API from a browser, such as `https://console.example.com`. By default only the console of this Steelyard may.',
  },
  STEELYARD_INSECURE: {
    about:
      '`1` allows a `HOST` that other machines can reach, without TLS and without a trusted proxy.',
  },
  STEELYARD_PUBLIC_URL: {
    shown: 'made from the above',
    about:
      'URL at which users and booting servers reach Steelyard, without a path: Steelyard needs a host name (or a port) of its own. Every image with a join token contains it.',
  },
  IMAGE_FACTORY_URL: {
    fallback: 'https://factory.talos.dev',
    about: 'Image factory that builds Talos images: see [Images](images.md#images).',
  },
  KUBERNETES_RELEASES_URL: {
    fallback: 'https://dl.k8s.io/release',
    about:
      "Kubernetes' own list of releases, which names the newest patch release of each minor. A release is offered a week after it is out, when the image of its kubelet exists. Without an answer, the versions that came with Steelyard are offered. Not called with `STEELYARD_SIMULATE`.",
  },
  WAITLIST_URL: { about: 'Target of "Join waitlist"; without it, a dialog of Steelyard.' },
  STEELYARD_SESSION_IDLE_HOURS: {
    fallback: '8',
    about: 'A session ends after this many hours without use; above 0, at most 24.',
  },
  STEELYARD_SECOND_FACTOR_ROLES: {
    about:
      'Roles, comma-separated, whose users need a second factor: see [Second factors](users.md#second-factors).',
  },
  STEELYARD_LOCAL_SIGN_IN: {
    fallback: '1',
    about:
      '`0` switches off passwords and passkeys of Steelyard; users then sign in through the identity provider only.',
  },
  STEELYARD_OIDC_ISSUER: {
    about:
      'Issuer URL of an OpenID Connect provider: see [An identity provider](users.md#an-identity-provider).',
  },
  STEELYARD_OIDC_CLIENT_ID: { about: 'Client id of Steelyard at the provider.' },
  STEELYARD_OIDC_CLIENT_SECRET: { about: 'Client secret; none for a public client.' },
  STEELYARD_OIDC_NAME: {
    shown: 'host of the issuer',
    about: 'Name of the provider on the button.',
  },
  STEELYARD_OIDC_SCOPES: {
    fallback: 'openid email profile',
    about: 'Scopes to ask for, separated by spaces.',
  },
  STEELYARD_OIDC_ROLE_CLAIM: {
    fallback: 'groups',
    about:
      "Claim with the user's groups, or the path to it with dots, such as `realm_access.roles`.",
  },
  STEELYARD_OIDC_ROLES: {
    about:
      'Roles of groups: `ops=operator,platform admins=admin,*=viewer`. `*` is anybody. Separate with semicolons if groups contain commas.',
  },
  STEELYARD_TRIAL_SECONDS: {
    fallback: '60',
    about:
      'Time in which Steelyard must reach a server again after a change of its network; otherwise Talos undoes the change. 5 to 600. A time shorter than DHCP or a bond needs undoes good changes.',
  },
  STEELYARD_HISTORY_DAYS: {
    fallback: '730',
    about:
      'How many days the history of servers and clusters is kept. 1 to 36500. Older entries are removed once an hour, in small batches.',
  },
  STEELYARD_HISTORY_ENTRIES: {
    fallback: '20000000',
    about:
      'The most entries of the history that are kept; the oldest are removed first. 10000 to 1000000000. An entry takes about 1 kB of disk with its indexes; `GET /v1/history-kept` says how many there are, and their size.',
  },
  STEELYARD_OFFER_DETECTION_MINUTES: {
    fallback: '10',
    about:
      'Steelyard looks for the [offer](../offers.md#the-offer-of-a-new-cluster) of a new cluster this many minutes; above 0, at most 1440.',
  },
  STEELYARD_OFFER_TOOL: {
    fallback: 'steelyard',
    about: "Command-line tool for offers that the dialog with the clusters' keys names.",
  },
  STEELYARD_OFFER_TOOL_VERSION: {
    about: 'Version of that tool. Without it, the version of Steelyard.',
  },
  STEELYARD_OFFER_UPDATE_COMMAND: {
    fallback: '{tool} offer update --all',
    about:
      'Command of that tool that updates existing offers. May contain `{tool}` and `{version}`.',
  },
  STEELYARD_OFFER_ADDRESS_COMMAND: {
    fallback: '{tool} offer set-access-address --offer-id {offerId} --address {chainAddress}',
    about:
      "Command of that tool that sets an offer's access address. Must contain `{offerId}` and `{chainAddress}`; may contain `{tool}` and `{version}`.",
  },
  ...tracingSettings,
  LOG_LEVEL: {
    fallback: 'info',
    about: 'Lowest level that is logged: `debug`, `info`, `warn` or `error`.',
  },
  STEELYARD_ROLES: {
    fallback: 'http,reconcile',
    about:
      'What this process does: answer the API (`http`), bring servers and clusters to the wanted state (`reconcile`), or both. Without `http` it answers `/healthz`, `/readyz` and `/metrics` only, at its `HOST` and `PORT`.',
  },
  STEELYARD_SIMULATE_KEYS: {
    about:
      'For tests, only with `STEELYARD_SIMULATE`: JSON file with existing private keys for clusters, so that no cluster waits for its RSA key.',
  },
  FAILPOINT: {
    about:
      'For tests: the process kills itself before or after this effect, or the one that a file names (`@/path`).',
  },
} as const satisfies Record<string, SettingRow>
export type Setting = keyof typeof settings

/** The value of a setting that isn't given; undefined if it has none. */
export const fallbackOf = (name: Setting): string | undefined => {
  const row: SettingRow = settings[name]
  return row.fallback
}
