// Says in a sentence why `npm ci` failed. Used by `start.mjs`, which the machine's own Node.js runs,
// so it is plain JavaScript.

/**
 * Causes by what npm prints (`npm error code …`, and the texts of the system's errors), the first
 * that matches. `where.folder` is the checkout, `where.registry` the address of the registry.
 */
const causes = [
  [/\bspawn npm ENOENT\b/, () => 'npm is not installed: install it together with Node.js'],
  [
    /\bENOSPC\b|no space left on device/,
    ({ folder }) => `The disk is full: make room where ${folder} is, and run the command again`,
  ],
  [
    /\b(?:EACCES|EPERM|EROFS)\b/,
    ({ folder }) =>
      `This user can't write to ${folder}, or to npm's cache: run the command as their owner`,
  ],
  [
    /\bCERT_(?:NOT_YET_VALID|HAS_EXPIRED)\b/,
    ({ registry }) =>
      `The certificate of the registry ${registry} isn't valid at the time of this machine's clock, ${new Date().toISOString()}: set the clock`,
  ],
  [
    /\b(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER_CERT\w*|VERIFY_LEAF_SIGNATURE))\b/,
    ({ registry }) =>
      `npm doesn't know the authority that signed the certificate of the registry ${registry}: set NODE_EXTRA_CA_CERTS to a PEM file of that authority`,
  ],
  [
    /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ENETUNREACH|EHOSTUNREACH|UND_ERR_\w+)\b/,
    ({ registry }, code) =>
      `The registry of packages ${registry} can't be reached (${code}): connect this machine to the internet, set HTTPS_PROXY, or name a mirror (npm config set registry ADDRESS)`,
  ],
  [
    /\bE(?:401|403|NEEDAUTH)\b/,
    ({ registry }) => `The registry of packages ${registry} wants a sign-in: npm login`,
  ],
  [
    /\bE(?:404|TARGET)\b/,
    ({ registry }) =>
      `The registry of packages ${registry} lacks a package of the lockfile: use the registry https://registry.npmjs.org, or a whole mirror`,
  ],
  [
    /\bEINTEGRITY\b/,
    ({ registry }) =>
      `A package from ${registry} has other content than the lockfile says: clean npm's cache (npm cache clean --force), and check the registry if it happens again`,
  ],
]

/**
 * The cause of a failed installation in a sentence, or undefined if npm's own output has to explain
 * it.
 */
export function whyNotInstalled(output, where) {
  for (const [sign, sentence] of causes) {
    const found = sign.exec(output)
    if (found) return sentence(where, found[0])
  }
  return undefined
}

/** Before this time a clock is wrong for sure: a machine without a battery starts in 1970. */
const earliest = Date.UTC(2020, 0, 1)
/** A sentence if the clock is so wrong that certificates and sessions can't be valid. */
export const wrongClock = (now) =>
  now < earliest
    ? `This machine's clock says ${new Date(now).toISOString()}. Set it first: certificates, sessions and backups depend on it`
    : undefined

/** What the packages take while they are installed; a quarter of it is removed afterwards. */
const neededMB = 500
/** Less than this is left only if a package didn't fit. */
const spareMB = 10
/** A sentence if the disk is too full to install, or was full during the installation. */
export function diskFull(folder, freeBytes, when) {
  const freeMB = Math.floor(freeBytes / 1e6)
  if (freeMB >= (when === 'before' ? neededMB : spareMB)) return undefined
  return `The disk is full: the packages take ${neededMB} MB while they are installed, and ${freeMB} MB are free where ${folder} is`
}
