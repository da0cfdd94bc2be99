/** The thread that reads long JSON, such as the answer of a cluster's Kubernetes API. */
import { pieces } from './json-pieces.ts'
import { serveWork } from './serve.ts'

const work = { json: pieces }

export type AnswerWork = typeof work

serveWork(work)
