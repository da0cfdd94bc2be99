import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cruise, type ICruiseResult } from 'dependency-cruiser'
import { circles, folderCircles } from './circles.ts'
import { mostInCircle, ruleSet, upBetweenDomains } from './import-rules.ts'

export const isTest = (file: string): boolean =>
  /\.(test|e2e)\.tsx?$|\/testing(\/|\.ts$)/.test(file)

/** TypeScript files of the repository, including new ones that git doesn't track yet. */
export function sourceFiles(): string[] {
  return execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx'],
    { encoding: 'utf8' },
  )
    .split('\n')
    .filter((f) => f && existsSync(f))
}

/**
 * Each import that breaks a rule of `import-rules.ts`, as `rule: file -> file`, each circle of too
 * many files, and each circle of folders in the domains of the backend. Paths are relative to `baseDir`.
 */
export async function brokenRules(
  files: readonly string[],
  baseDir = process.cwd(),
): Promise<string[]> {
  // swc parses the imports, because TypeScript 7 has no API for that yet.
  const options = {
    baseDir,
    ruleSet,
    validate: true,
    parser: 'swc',
    skipAnalysisNotInRules: true,
    doNotFollow: { path: 'node_modules' },
  } as const
  const { output } = await cruise([...files], options, {
    exportsFields: ['exports'],
    conditionNames: ['import', 'node', 'default'],
  })
  const { modules, summary } = output as ICruiseResult
  const imports = new Map(
    modules.map(({ source, dependencies }) => [source, dependencies.map((d) => d.resolved)]),
  )
  const isInDomain = (file: string) => file.startsWith('backend/src/domains/') && !isTest(file)
  const ofDomains = new Map([...imports].filter(([file]) => isInDomain(file)))
  return [
    ...summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`),
    ...circles(imports)
      .filter((files) => files.length > mostInCircle)
      .map((files) => `circle: ${files.join(', ')}`),
    ...folderCircles(ofDomains, upBetweenDomains).map(
      (folders) => `circle of folders: ${folders.join(', ')}`,
    ),
  ]
}
