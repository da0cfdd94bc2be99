#!/opt/steelyard/node/bin/node
// The image has no shell. But initdb starts PostgreSQL's own program through /bin/sh (system(3),
// popen(3)), so this file stands there. It starts that program and nothing else.
'use strict'
const { spawnSync } = require('node:child_process')
const { openSync } = require('node:fs')

const postgres =
  /^\/(?:opt\/steelyard\/node_modules|var\/lib\/steelyard\/postgresql-[^/]+)\/(?:[^/.][^/]*\/)+bin\/postgres$/
const refuse = (why) => {
  process.stderr.write(`This image has no shell: ${why}\n`)
  process.exit(126)
}

const args = process.argv.slice(2)
if (args[0] !== '-c') refuse('/bin/sh starts only PostgreSQL for initdb')
const command = (args[1] === '--' ? args[2] : args[1]) ?? ''

// Words, words in double quotes, and redirections. initdb writes no other commands (src/bin/initdb).
const part = /\s*(?:(2>&1)|([<>])\s*(?:"([^"$`\\]*)"|([\w./-]+))|"([^"$`\\]*)"|([\w./=,:+-]+))/y
const words = []
const stdio = ['inherit', 'inherit', 'inherit']
const text = command.trim()
while (part.lastIndex < text.length) {
  const found = part.exec(text)
  if (found === null) refuse('the command has other parts than words and redirections')
  const [, both, direction, quotedFile, file, quoted, word] = found
  if (both) stdio[2] = stdio[1]
  else if (direction === '<') stdio[0] = openSync(quotedFile ?? file, 'r')
  else if (direction === '>') stdio[1] = openSync(quotedFile ?? file, 'w')
  else words.push(quoted ?? word)
}
// PostgreSQL asks for the locales of the system. There are none but those of libc itself.
if (words[0] === 'locale') process.exit(127)
if (!postgres.test(words[0] ?? '')) refuse(`${words[0]} isn't PostgreSQL`)

const { status, signal, error } = spawnSync(words[0], words.slice(1), { stdio })
if (error) refuse(error.message)
if (signal) process.kill(process.pid, signal)
process.exit(status ?? 1)
