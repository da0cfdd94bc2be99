/**
 * The programs that read the OpenAPI document: generators of clients, and Schemathesis. Each comes
 * from its registry in the version below, into a folder that later runs find again.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { programsFolder as folder, run } from '../../tools/testing/programs.ts'

export const versions = {
  oapiCodegen: 'v2.8.2',
  /** What the code of oapi-codegen imports. */
  oapiCodegenRuntime: 'v1.9.0',
  uuid: 'v1.6.0',
  openapiGenerator: '7.25.0',
  /** What the code of openapi-generator imports. */
  goValidator: 'v2.0.1',
  mavenDependencyPlugin: '3.8.1',
  openapiPythonClient: '0.29.1',
  httpx: '0.28.1',
  attrs: '26.1.0',
  mypy: '2.4.1',
  schemathesis: '4.32.5',
} as const

/** oapi-codegen, by Go's module proxy. */
export function oapiCodegen(): string {
  const program = join(folder, `oapi-codegen-${versions.oapiCodegen}`, 'oapi-codegen')
  if (!existsSync(program))
    run(
      'go',
      [
        'install',
        `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${versions.oapiCodegen}`,
      ],
      { env: { GOBIN: join(program, '..'), GOFLAGS: '' } },
    )
  return program
}

/** The archive of openapi-generator, by Maven. */
export function openapiGenerator(): string {
  const archive = join(folder, `openapi-generator-cli-${versions.openapiGenerator}.jar`)
  if (!existsSync(archive))
    run('mvn', [
      '--batch-mode',
      '--quiet',
      `org.apache.maven.plugins:maven-dependency-plugin:${versions.mavenDependencyPlugin}:copy`,
      `-Dartifact=org.openapitools:openapi-generator-cli:${versions.openapiGenerator}`,
      `-DoutputDirectory=${folder}`,
    ])
  return archive
}
