/** Prometheus's own program judges the metrics and the files in `deploy/`. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { startBackend } from '../testing/backend.ts'

const promtool = (args: readonly string[], input = '') =>
  spawnSync('promtool', args, { input, encoding: 'utf8' })

// Without it, `npm run test:all` counts a skipped suite by name (tools/test.mjs).
test.runIf(promtool(['--version']).status === 0)(
  'promtool finds nothing in the metrics and the rules',
  async () => {
    const backend = await startBackend()
    await backend.app.inject({ url: '/healthz' })
    const { body } = await backend.app.inject({ url: '/metrics' })
    const metrics = promtool(['check', 'metrics'], body)
    expect(metrics.stdout + metrics.stderr).toBe('')
    const rules = promtool([
      'check',
      'rules',
      '--lint-fatal',
      'deploy/prometheus/steelyard.rules.yml',
    ])
    expect(rules.stderr).toBe('')
    expect(rules.status).toBe(0)
    const tests = promtool(['test', 'rules', 'deploy/prometheus/steelyard.test.yml'])
    expect(tests.stdout + tests.stderr).toMatch(/SUCCESS\s*$/)
  },
  120_000,
)
