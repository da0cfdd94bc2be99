import type { ListedServer } from '#contract/servers/servers.ts'
import type { Verdict } from '#contract/rule.ts'

/**
 * Allows a bulk action if it applies to at least one server; otherwise returns the first reason.
 */
export function anyAble(
  servers: readonly ListedServer[],
  judge: (s: ListedServer) => Verdict,
): Verdict {
  const verdicts = servers.map((s) => ({ s, verdict: judge(s) }))
  const first = verdicts[0]
  if (first === undefined || verdicts.some(({ verdict }) => verdict.ok) || first.verdict.ok)
    return { ok: true }
  return servers.length === 1
    ? first.verdict
    : { ok: false, reason: `${first.s.name}: ${first.verdict.reason}` }
}
