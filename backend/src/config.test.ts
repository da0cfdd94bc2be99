import { expect, test } from 'vitest'
import { ConfigRefused, readConfig } from './config.ts'

const read = (environment: Record<string, string>) => readConfig(environment, '/tmp')
const problems = (environment: Record<string, string>): readonly string[] => {
  try {
    read(environment)
    return []
  } catch (error) {
    if (error instanceof ConfigRefused) return error.problems
    throw error
  }
}

test('by default Steelyard listens on loopback, uses the embedded database, and contacts no server', () => {
  const config = read({})
  expect(config).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    databaseUrl: undefined,
    firstUser: undefined,
    simulate: undefined,
    dialNetworks: [],
    consoleOrigins: [],
    tls: undefined,
    publicUrl: 'http://127.0.0.1:8080',
    roles: ['http', 'reconcile'],
    logLevel: 'info',
    failpoint: undefined,
  })
})

test('all problems are reported at once, each with the name of its setting', () => {
  const found = problems({
    PORT: 'http',
    DATABASE_URL: 'mysql://x',
    STEELYARD_ADMIN_EMAIL: 'admin',
    STEELYARD_ADMIN_PASSWORD: 'short',
    STEELYARD_DIAL_NETWORKS: '10.0.0.1/8, fd00::/64, x',
    STEELYARD_TLS_CERT: 'cert.pem',
    STEELYARD_TRUSTED_PROXIES: '300.0.0.0/8',
    STEELYARD_INSECURE: 'yes',
    STEELYARD_SIMULATE: '0',
    STEELYARD_ROLES: 'web',
    STEELYARD_TYPO: '1',
    STEELYARD_CONSOLE_ORIGINS: 'https://ok.example, https://console.example/path',
    WAITLIST_URL: 'ftp://x',
    LOG_LEVEL: 'loud',
  })
  expect(found.map((p) => p.split(' ', 1)[0]).toSorted((a, b) => (a! < b! ? -1 : 1))).toEqual([
    'DATABASE_URL',
    'LOG_LEVEL',
    'PORT',
    'STEELYARD_ADMIN_EMAIL',
    'STEELYARD_ADMIN_PASSWORD',
    'STEELYARD_CONSOLE_ORIGINS',
    'STEELYARD_DIAL_NETWORKS',
    'STEELYARD_DIAL_NETWORKS',
    'STEELYARD_INSECURE',
    'STEELYARD_ROLES',
    'STEELYARD_SIMULATE',
    'STEELYARD_TLS_KEY',
    'STEELYARD_TRUSTED_PROXIES',
    'STEELYARD_TYPO',
    'WAITLIST_URL',
  ])
  expect(found.join()).not.toContain('short')
})

test.each([
  [{ HOST: '0.0.0.0' }, false],
  [{ HOST: '::' }, false],
  [{ HOST: '192.0.2.1' }, false],
  [{ HOST: 'steelyard.example.com' }, false],
  [{ HOST: '0.0.0.0', STEELYARD_INSECURE: '0' }, false],
  [{ HOST: '0.0.0.0', STEELYARD_INSECURE: '1' }, true],
  [{ HOST: '0.0.0.0', STEELYARD_TLS_CERT: 'c', STEELYARD_TLS_KEY: 'k' }, true],
  [{ HOST: '0.0.0.0', STEELYARD_TRUSTED_PROXIES: '10.0.0.1' }, true],
  [{ HOST: '127.0.0.2' }, true],
  [{ HOST: '::1' }, true],
  [{ HOST: 'localhost' }, true],
])(
  'listening on an address that other machines can reach requires TLS, a trusted proxy or STEELYARD_INSECURE=1: %j',
  (environment, allowed) => {
    expect(problems(environment).length === 0).toBe(allowed)
  },
)

test('email and password of the first user must be set together; spaces in the password are kept', () => {
  expect(problems({ STEELYARD_ADMIN_EMAIL: 'a@b.cd' })).toHaveLength(1)
  expect(problems({ STEELYARD_ADMIN_PASSWORD: 'a long password' })).toHaveLength(1)
  expect(
    read({ STEELYARD_ADMIN_EMAIL: ' A@B.cd ', STEELYARD_ADMIN_PASSWORD: ' twelve chars ' })
      .firstUser,
  ).toEqual({
    email: 'a@b.cd',
    password: ' twelve chars ',
  })
})

test('relative paths become absolute, and URLs lose a trailing slash', () => {
  const config = read({
    STEELYARD_DATA: 'here',
    STEELYARD_KEY_FILE: '/run/key',
    STEELYARD_PUBLIC_URL: 'https://steelyard.example.com/',
    HOST: '::1',
    PORT: '0',
  })
  expect(config).toMatchObject({
    dataFolder: '/tmp/here',
    keyFile: '/run/key',
    publicUrl: 'https://steelyard.example.com',
  })
  expect(read({ STEELYARD_DATA: 'here' }).keyFile).toBe('/tmp/here/key')
  expect(read({ HOST: '::1' }).publicUrl).toBe('http://[::1]:8080')
})

test.each([
  ['STEELYARD_PUBLIC_URL', 'https://steelyard.example.com/?a=b', 'must end before ? and #'],
  [
    'STEELYARD_PUBLIC_URL',
    'https://example.com/steelyard',
    "must have no path: Steelyard can't live below a path of another site. Give it a host name of its own",
  ],
  ['IMAGE_FACTORY_URL', 'https://factory.example.com/#x', 'must end before ? and #'],
  [
    'IMAGE_FACTORY_URL',
    'https://me:secret@factory.example.com',
    'must hold no user name and no password',
  ],
])(
  'a URL with a query, a fragment, credentials or a path that cannot work is refused: %s=%s',
  (name, value, why) => {
    const refused = problems({ [name]: value })
    expect(refused).toEqual([`${name} ${why}`])
  },
)

test('the time of the search for offers is a number of minutes', () => {
  expect(read({}).offerDetectionMinutes).toBe(10)
  expect(read({ STEELYARD_OFFER_DETECTION_MINUTES: '0.5' }).offerDetectionMinutes).toBe(0.5)
  for (const wrong of ['0', '-1', '1441', 'ten', '1e3', '10 minutes'])
    expect(problems({ STEELYARD_OFFER_DETECTION_MINUTES: wrong })).toEqual([
      'STEELYARD_OFFER_DETECTION_MINUTES must be a number of minutes above 0, at most 1440',
    ])
})

test('the commands of another tool for offers are checked, because users copy them into a terminal', () => {
  expect(read({}).offerTool).toEqual({
    name: 'steelyard',
    version: undefined,
    updateCommand: '{tool} offer update --all',
    addressCommand: '{tool} offer set-access-address --offer-id {offerId} --address {chainAddress}',
  })
  const address = 'STEELYARD_OFFER_ADDRESS_COMMAND'
  for (const [name, wrong, why] of [
    [address, '{tool} set {offerId}', 'must hold {offerId} and {chainAddress}'],
    [
      address,
      '{tool} set {offerId} {chainAddress} {secret}',
      'holds {secret}, which is not one of its placeholders',
    ],
    [
      address,
      '{tool} set {offerId}\nrm -rf ~ {chainAddress}',
      'must be one line of printable ASCII characters',
    ],
    [
      address,
      '{tool} \u001b[8m{offerId} {chainAddress}',
      'must be one line of printable ASCII characters',
    ],
    [
      'STEELYARD_OFFER_UPDATE_COMMAND',
      '{tool} update {offerId}',
      'holds {offerId}, which is not one of its placeholders ({tool}, {version})',
    ],
    [
      'STEELYARD_OFFER_TOOL',
      '{version}',
      'holds {version}, which is not one of its placeholders (it has none)',
    ],
    ['STEELYARD_OFFER_TOOL_VERSION', `1.0${'0'.repeat(300)}`, 'must be one line'],
  ] as const)
    expect(problems({ [name]: wrong })).toEqual([
      expect.stringContaining(`${name} ${why}`) as string,
    ])
})

test('the URL in a setting is normalised', () => {
  expect(read({ IMAGE_FACTORY_URL: 'HTTPS://Factory.Example.com/a b//' }).imageFactoryUrl).toBe(
    'https://factory.example.com/a%20b',
  )
})

test('the settings of the CLI and of the scripts in docs/ are accepted, and an unknown setting is refused', () => {
  expect(
    problems({
      STEELYARD_CA_FILE: 'x',
      STEELYARD_CONTEXT: 'x',
      STEELYARD_URL: 'x',
      STEELYARD_TOKEN: 'x',
      STEELYARD_EMAIL: 'x',
      STEELYARD_PASSWORD: 'x',
    }),
  ).toEqual([])
  expect(problems({ STEELYARD_DIAL_NETWORK: '10.0.0.0/8' })).toEqual([
    'STEELYARD_DIAL_NETWORK is not a setting: docs/running/settings.md lists them all',
  ])
})

test('the settings of an identity provider are read, with the roles of its groups', () => {
  const { provider, localSignIn, secondFactorRoles } = read({
    STEELYARD_OIDC_ISSUER: 'https://id.example.com/realms/ops',
    STEELYARD_OIDC_CLIENT_ID: 'steelyard',
    STEELYARD_OIDC_ROLES: 'ops=operator, platform admins = admin ,*=viewer',
    STEELYARD_SECOND_FACTOR_ROLES: 'admin, operator',
  })
  expect(provider).toMatchObject({
    clientId: 'steelyard',
    clientSecret: undefined,
    name: 'id.example.com',
    scopes: 'openid email profile',
    roleClaim: 'groups',
  })
  expect(provider!.issuer.href).toBe('https://id.example.com/realms/ops')
  expect([...provider!.roles!]).toEqual([
    ['ops', 'operator'],
    ['platform admins', 'admin'],
    ['*', 'viewer'],
  ])
  expect({ localSignIn, secondFactorRoles }).toEqual({
    localSignIn: true,
    secondFactorRoles: ['admin', 'operator'],
  })
  const named = read({
    STEELYARD_OIDC_ISSUER: 'https://id.example.com',
    STEELYARD_OIDC_CLIENT_ID: 'x',
    STEELYARD_OIDC_ROLES: 'cn=ops,ou=it=operator;cn=all,ou=it=viewer',
  })
  expect([...named.provider!.roles!.keys()]).toEqual(['cn=ops,ou=it', 'cn=all,ou=it'])
})

test.each([
  [
    { STEELYARD_OIDC_ISSUER: 'id.example.com', STEELYARD_OIDC_CLIENT_ID: 'x' },
    'STEELYARD_OIDC_ISSUER must be a URL',
  ],
  [
    { STEELYARD_OIDC_ISSUER: 'http://id.example.com', STEELYARD_OIDC_CLIENT_ID: 'x' },
    'STEELYARD_OIDC_ISSUER must begin with https://',
  ],
  [
    { STEELYARD_OIDC_ISSUER: 'https://id.example.com' },
    'STEELYARD_OIDC_CLIENT_ID must be set together with STEELYARD_OIDC_ISSUER',
  ],
  [
    { STEELYARD_OIDC_CLIENT_SECRET: 'x' },
    'STEELYARD_OIDC_CLIENT_SECRET needs STEELYARD_OIDC_ISSUER',
  ],
  [
    {
      STEELYARD_OIDC_ISSUER: 'https://id.example.com',
      STEELYARD_OIDC_CLIENT_ID: 'x',
      STEELYARD_OIDC_ROLES: 'ops=boss',
    },
    'STEELYARD_OIDC_ROLES holds ops=boss',
  ],
  [
    {
      STEELYARD_OIDC_ISSUER: 'https://id.example.com',
      STEELYARD_OIDC_CLIENT_ID: 'x',
      STEELYARD_OIDC_SCOPES: 'email',
    },
    'STEELYARD_OIDC_SCOPES must contain openid',
  ],
  [{ STEELYARD_LOCAL_SIGN_IN: '0' }, 'STEELYARD_LOCAL_SIGN_IN is 0, so nobody could sign in'],
  [{ STEELYARD_SECOND_FACTOR_ROLES: 'admins' }, 'STEELYARD_SECOND_FACTOR_ROLES must be roles'],
])('wrong settings of the sign-in are refused: %j', (environment, problem) => {
  expect(problems(environment as Record<string, string>)).toEqual([
    expect.stringContaining(problem),
  ])
})

test('an identity provider on this machine may be called without TLS', () => {
  expect(
    read({ STEELYARD_OIDC_ISSUER: 'http://localhost:9000', STEELYARD_OIDC_CLIENT_ID: 'x' })
      .provider,
  ).toMatchObject({ allowPlain: true })
})

test('traces are on with an endpoint, and off by default or if a setting says so', () => {
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318/base/' }
  const { tracing } = read({
    ...on,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20eDp5,x-tenant=one',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-tenant=two',
    OTEL_SERVICE_NAME: 'rack',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=a%2Cb',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '.25',
  })
  expect(tracing?.endpoint.href).toBe('http://collector.example:4318/base/v1/traces')
  expect(tracing).toMatchObject({
    headers: { authorization: 'Basic eDp5', 'x-tenant': 'two' },
    timeoutMs: 10_000,
    resource: { 'service.name': 'rack', 'deployment.environment.name': 'a,b' },
    sampler: { root: 'traceidratio', ratio: 0.25, followsParent: true },
  })
  const exact = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://t.example/api/otlp?tenant=1' }
  expect(read({ ...on, ...exact }).tracing?.endpoint.href).toBe(
    exact.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
  )
  expect(read({ OTEL_TRACES_EXPORTER: 'otlp' }).tracing?.endpoint.href).toBe(
    'http://localhost:4318/v1/traces',
  )
  expect(read({}).tracing).toBeUndefined()
  expect(read({ ...on, OTEL_TRACES_EXPORTER: 'none' }).tracing).toBeUndefined()
  expect(read({ ...on, OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_SAMPLER: 'x' }).tracing).toBe(
    undefined,
  )
})

test('each wrong setting of traces is named, without its secrets', () => {
  const found = problems({
    OTEL_SDK_DISABLED: 'maybe',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:s3cret@collector.example',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=s3cret%0d%0ax: y',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 's3cret',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_TIMEOUT: '10s',
    OTEL_RESOURCE_ATTRIBUTES: 'a=%zz',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_BSP_SCHEDULE_DELAY: '0',
  })
  expect(found.map((p) => p.split(' ', 1)[0])).toEqual(
    expect.arrayContaining([
      'OTEL_BSP_SCHEDULE_DELAY',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
      'OTEL_RESOURCE_ATTRIBUTES',
      'OTEL_SDK_DISABLED',
    ]),
  )
  expect(found.join()).not.toContain('s3cret')
  const on = { OTEL_TRACES_EXPORTER: 'otlp' }
  for (const [name, text] of [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=s3cret%0d%0ax: y'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a b=s3cret'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_BSP_SCHEDULE_DELAY', '0'],
  ] as const) {
    const [problem, ...others] = problems({ ...on, [name]: text })
    expect([problem?.startsWith(`${name} `), others]).toEqual([true, []])
    expect(problem).not.toContain('s3cret')
  }
  expect(
    problems({ ...on, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' }),
  ).toEqual(['OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, the share of traces to keep'])
})
