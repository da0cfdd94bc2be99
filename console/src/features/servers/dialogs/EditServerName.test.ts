// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest'
import { nameProblem, withName } from './EditServerName.tsx'

const others = [
  { id: '1', name: 'amber-falcon-204' },
  { id: '2', name: 'brisk-heron-077' },
]

describe('renaming a server', () => {
  it('each broken rule of server names shows the specified message', () => {
    expect(nameProblem('', '1', others)).toBe('Server name must be at least 1 character')
    expect(nameProblem('   ', '1', others)).toBe('Server name must be at least 1 character')
    expect(nameProblem('a'.repeat(26), '1', others)).toBe(
      'Server name must be no more than 25 characters',
    )
    expect(nameProblem('a'.repeat(25), '1', others)).toBeNull()
    for (const bad of ['-a', 'a-', 'a--b', 'A', 'a_b', 'a b', 'ä']) {
      expect(nameProblem(bad, '1', others)).toBe(
        'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
      )
    }
    expect(nameProblem('brisk-heron-077', '1', others)).toBe(
      'Server name already exists. Please choose a different name.',
    )
  })

  it('a server may keep its name, and the entered name is trimmed', () => {
    expect(nameProblem('amber-falcon-204', '1', others)).toBeNull()
    expect(nameProblem(' brisk-heron-077 ', '1', others)).toBe(
      'Server name already exists. Please choose a different name.',
    )
  })

  it('renaming changes the cached page at once if the server is on that page', () => {
    const page = { items: others, total: 2 }
    expect(withName(page, '2', 'oak').items[1]).toEqual({ id: '2', name: 'oak' })
    expect(withName(page, '3', 'oak')).toBe(page)
    expect(others[1]!.name).toBe('brisk-heron-077')
  })
})
