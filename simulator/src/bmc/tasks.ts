/** Tasks that a BMC keeps; the oldest ones are dropped. */
const MOST_TASKS = 100

export interface Task {
  readonly id: string
  readonly name: string
  /** Wall-clock times in ms. */
  readonly startedAt: number
  endedAt: number | null
}

export class Tasks {
  readonly #now: () => number
  #tasks: Task[] = []
  #next = 1

  constructor(now: () => number) {
    this.#now = now
  }

  get all(): readonly Task[] {
    return this.#tasks
  }

  find(id: string): Task | undefined {
    return this.#tasks.find((task) => task.id === id)
  }

  /** A task that ends with the promise. */
  follow(name: string, work: Promise<void>): Task {
    const task: Task = { id: String(this.#next++), name, startedAt: this.#now(), endedAt: null }
    this.#tasks = [...this.#tasks, task].slice(-MOST_TASKS)
    void work.finally(() => (task.endedAt = this.#now()))
    return task
  }
}
