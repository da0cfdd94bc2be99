import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { everyCommand, startCli } from '../../testing/cli.ts'

/** Completes a command line in bash. `listed`: what a list prints as names. */
async function bash(listed: string) {
  const cli = await startCli()
  const file = join(cli.folder, 'completion')
  await writeFile(file, (await cli.run('completion bash')).out)
  const program = join(cli.folder, 'steelyard')
  await writeFile(
    program,
    `#!/bin/sh\necho "$@" >> ${cli.folder}/asked\ncat <<'END'\n${listed}\nEND\n`,
  )
  await chmod(program, 0o755)
  return {
    cli,
    complete: async (...line: string[]) => {
      const words = ['steelyard', ...line].map((w) => `'${w}'`).join(' ')
      const { stdout } = await promisify(execFile)(
        'bash',
        [
          '-c',
          `source ${file}; COMP_WORDS=(${words}); COMP_CWORD=${line.length}; _steelyard; printf '%s|' "\${COMPREPLY[@]}"`,
        ],
        {
          cwd: cli.folder,
          env: { ...process.env, PATH: `${cli.folder}${delimiter}${process.env['PATH']}` },
        },
      )
      return stdout.replace(/\|$/, '').split('|').join(' ')
    },
  }
}

test('the completion script completes commands and options in bash', async () => {
  const { cli, complete } = await bash('')
  expect(await complete('clu')).toBe('cluster')
  const verbs = new Set(
    everyCommand().flatMap(({ name }) => /^server ([\w-]+)/.exec(name)?.[1] ?? []),
  )
  expect(verbs).toContain('rename')
  expect(await complete('server', '')).toBe([...verbs].join(' '))
  expect(await complete('server', 'list', '--stat')).toBe('--status')
  expect(await complete('server', 'list', '--status', 'm')).toBe('maintenance')
  expect(await complete('login', '--pass')).toBe('--password-stdin')
  expect(await complete('server', 'show', 'name', '--js')).toBe('--json')
  expect((await cli.run('completion zsh')).out).toMatch(/compinit;.*\n.*bashcompinit/)
  expect((await cli.run('completion tcsh')).exit).toBe(2)
  const fish = (await cli.run('completion fish')).out
  expect(fish).toContain(
    "complete -c steelyard -f -n '__steelyard_at \\'server\\'' -a list -d 'The servers.'",
  )
  expect(fish).toContain(
    "complete -c steelyard -n '__steelyard_is \\'server list\\'' -l status -x -a 'ready maintenance deleted'",
  )
  expect(fish).toContain('-l file -s f -r')
})

test('the names of objects are completed from their list, and a hostile name runs nothing', async () => {
  const { cli, complete } = await bash(`web\nwest 2\nw$(touch ran)\nedge`)
  expect(await complete('cluster', 'show', 'we')).toBe('web west\\ 2')
  expect(await complete('cluster', 'show', 'w')).toContain('w\\$\\(touch')
  expect(await complete('server', 'list', '--cluster', 'e')).toBe('edge')
  expect(await complete('cluster', 'show', '--wa')).toBe('--watch')
  expect(await complete('server', 'list', '-o', 'js')).toBe('json jsonpath=')
  const { stdout } = await promisify(execFile)('ls', [cli.folder])
  expect(stdout).not.toContain('ran')
  const fish = (await cli.run('completion fish')).out
  expect(fish).toContain("-a '(steelyard cluster list --per-page 1000 -o ")
})
