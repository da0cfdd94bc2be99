/** Accounts, roles and sessions: AccountService and SessionService. */
import type { Bmc } from './bmc.ts'
import { aBoolean, aNumber, aText, oneOf, patched } from './fields.ts'
import { type Account, type Role, ROLES } from './kept.ts'
import { Refusal } from './refusal.ts'
import {
  addCollection,
  type Answer,
  type Call,
  document,
  HEALTHY,
  link,
  NO_CONTENT,
  type Privilege,
  ROOT,
  type Tree,
} from './tree.ts'

/** Wrong passwords in a row after which an account is locked, and for how long. */
const LOCKED_AFTER = 5
const LOCKED_FOR_S = 300
const MOST_ACCOUNTS = 16
const PASSWORD = { shortest: 8, longest: 64 }

const PRIVILEGES: Readonly<Record<Role, readonly Privilege[]>> = {
  Administrator: [
    'Login',
    'ConfigureManager',
    'ConfigureUsers',
    'ConfigureSelf',
    'ConfigureComponents',
  ],
  Operator: ['Login', 'ConfigureSelf', 'ConfigureComponents'],
  ReadOnly: ['Login', 'ConfigureSelf'],
}

export const mayDo = (account: Account, privileges: readonly Privilege[]): boolean =>
  privileges.some((privilege) => PRIVILEGES[account.role].includes(privilege))

/**
 * The account with this name and password. Throws `Refusal` (401) without saying which of the two is
 * wrong. Wrong passwords are counted, and lock the account.
 */
export const signIn = (bmc: Bmc, userName: string, password: string): Account => {
  bmc.counters.passwords++
  const refused = (): Refusal => {
    bmc.counters.refusedPasswords++
    return new Refusal('NoValidSession')
  }
  const account = bmc.kept.state.accounts.find((one) => one.userName === userName)
  if (!account?.isEnabled || bmc.has('locked')) throw refused()
  const now = bmc.machine.world.clock.now()
  if (account.lockedUntil > now) throw refused()
  if (account.password !== password) {
    bmc.kept.change(() => {
      account.failures++
      if (account.failures < LOCKED_AFTER) return
      account.failures = 0
      account.lockedUntil = now + LOCKED_FOR_S * 1000
    })
    throw refused()
  }
  if (account.failures > 0) bmc.kept.change(() => (account.failures = 0))
  return account
}

const sessionDocument = (path: string, session: Bmc['sessions']['all'][number]) =>
  document(path, 'Session.v1_8_0.Session', session.id, `Session of ${session.userName}`, {
    UserName: session.userName,
    ClientOriginIPAddress: session.from,
    CreatedTime: new Date(session.createdAt).toISOString(),
    SessionType: 'Redfish',
  })

export const addSessions = (tree: Tree, bmc: Bmc): void => {
  if (!bmc.personality.hasSessions) return
  const service = `${ROOT}/SessionService`
  const sessions = `${service}/Sessions`
  const serviceDocument = () =>
    document(service, 'SessionService.v1_2_0.SessionService', 'SessionService', 'Sessions', {
      Status: HEALTHY,
      ServiceEnabled: true,
      SessionTimeout: bmc.kept.state.sessionTimeoutS,
      Sessions: link(sessions),
    })
  tree.set(service, {
    read: serviceDocument,
    patch: ({ body }) => {
      patched(
        body,
        {
          SessionTimeout(value) {
            const seconds = aNumber(value, 'SessionTimeout', 30, 86_400)
            return () => bmc.kept.change((state) => (state.sessionTimeoutS = seconds))
          },
        },
        serviceDocument(),
      )
      return { status: 200, body: serviceDocument() }
    },
  })
  const open = ({ body, from }: Call): Answer => {
    if (bmc.has('sessions-full'))
      throw new Refusal('SessionLimitExceeded', [], { headers: { 'Retry-After': '60' } })
    for (const name of ['UserName', 'Password'])
      if (body[name] === undefined) throw new Refusal('PropertyMissing', [name], { related: name })
    const userName = aText(body.UserName, 'UserName', 200)
    const password = aText(body.Password, 'Password', 200)
    const session = bmc.sessions.open(signIn(bmc, userName, password), from)
    bmc.counters.sessionsOpened++
    const path = `${sessions}/${session.id}`
    return {
      status: 201,
      body: sessionDocument(path, session),
      headers: { Location: path, 'X-Auth-Token': session.token },
    }
  }
  addCollection(
    tree,
    sessions,
    'SessionCollection',
    () => bmc.sessions.all.map(({ id }) => `${sessions}/${id}`),
    { post: open },
  )
  // Some clients post to the members instead (DSP0266, "Session login").
  tree.set(`${sessions}/Members`, { post: open })
  for (const session of bmc.sessions.all) {
    const path = `${sessions}/${session.id}`
    tree.set(path, {
      read: () => sessionDocument(path, session),
      remove: () => {
        bmc.sessions.end(session.id)
        return NO_CONTENT
      },
      needs: ({ account }) =>
        account?.id === session.accountId ? ['ConfigureSelf'] : ['ConfigureManager'],
    })
  }
}

const checkedPassword = (value: unknown): string => {
  const password = aText(value, 'Password', 500)
  if (password.length < PASSWORD.shortest || password.length > PASSWORD.longest)
    // The value isn't repeated.
    throw new Refusal('PropertyValueOutOfRange', ['(a password)', 'Password'], {
      related: 'Password',
    })
  return password
}

const checkedName = (bmc: Bmc, value: unknown, own?: Account): string => {
  const name = aText(value, 'UserName', 32)
  if (!/^[\w.@-]+$/.test(name))
    throw new Refusal('PropertyValueOutOfRange', [name, 'UserName'], { related: 'UserName' })
  if (bmc.kept.state.accounts.some((one) => one !== own && one.userName === name))
    throw new Refusal('ResourceAlreadyExists', ['ManagerAccount', 'UserName', name])
  return name
}

const addRoles = (tree: Tree, roles: string): void => {
  addCollection(tree, roles, 'RoleCollection', () => ROLES.map((role) => `${roles}/${role}`))
  for (const role of ROLES) {
    const path = `${roles}/${role}`
    tree.set(path, {
      read: () =>
        document(path, 'Role.v1_3_3.Role', role, role, {
          RoleId: role,
          IsPredefined: true,
          AssignedPrivileges: PRIVILEGES[role],
          OemPrivileges: [],
        }),
    })
  }
}

const ACCOUNTS = `${ROOT}/AccountService/Accounts`
const ROLE_PATHS = `${ROOT}/AccountService/Roles`

const accountDocument = (bmc: Bmc, account: Account) =>
  document(
    `${ACCOUNTS}/${account.id}`,
    'ManagerAccount.v1_14_1.ManagerAccount',
    account.id,
    'Account',
    {
      UserName: account.userName,
      Password: null,
      RoleId: account.role,
      Enabled: account.isEnabled,
      Locked: account.lockedUntil > bmc.machine.world.clock.now(),
      AccountTypes: ['Redfish'],
      PasswordChangeRequired: false,
      Links: { Role: link(`${ROLE_PATHS}/${account.role}`) },
    },
  )

const addAccount = (tree: Tree, bmc: Bmc, account: Account): void => {
  const set = (change: Partial<Account>) => () =>
    bmc.kept.change(() => Object.assign(account, change))
  tree.set(`${ACCOUNTS}/${account.id}`, {
    read: () => accountDocument(bmc, account),
    needs: ({ account: own, body }) =>
      own?.id === account.id && Object.keys(body).every((name) => name === 'Password')
        ? ['ConfigureUsers', 'ConfigureSelf']
        : ['ConfigureUsers'],
    patch: ({ body }) => {
      patched(
        body,
        {
          Password: (value) => set({ password: checkedPassword(value) }),
          UserName: (value) => set({ userName: checkedName(bmc, value, account) }),
          RoleId: (value) => set({ role: oneOf(value, ROLES, 'RoleId') }),
          Enabled: (value) => set({ isEnabled: aBoolean(value, 'Enabled') }),
          Locked(value) {
            // A lock can only be opened (ManagerAccount, Locked).
            if (aBoolean(value, 'Locked'))
              throw new Refusal('PropertyValueNotInList', ['true', 'Locked'])
            return set({ lockedUntil: 0, failures: 0 })
          },
        },
        accountDocument(bmc, account),
      )
      return { status: 200, body: accountDocument(bmc, account) }
    },
    remove: () => {
      if (account.id === '1') throw new Refusal('ResourceCannotBeDeleted')
      bmc.kept.change((state) => {
        state.accounts = state.accounts.filter((one) => one !== account)
      })
      bmc.sessions.endOf(account.id)
      return NO_CONTENT
    },
  })
}

export const addAccounts = (tree: Tree, bmc: Bmc): void => {
  const service = `${ROOT}/AccountService`
  const [accounts, roles] = [ACCOUNTS, ROLE_PATHS]
  tree.set(service, {
    read: () =>
      document(service, 'AccountService.v1_18_1.AccountService', 'AccountService', 'Accounts', {
        Status: HEALTHY,
        ServiceEnabled: true,
        MinPasswordLength: PASSWORD.shortest,
        MaxPasswordLength: PASSWORD.longest,
        AccountLockoutThreshold: LOCKED_AFTER,
        AccountLockoutDuration: LOCKED_FOR_S,
        AccountLockoutCounterResetAfter: LOCKED_FOR_S,
        AccountLockoutCounterResetEnabled: true,
        Accounts: link(accounts),
        Roles: link(roles),
      }),
  })
  addRoles(tree, roles)
  addCollection(
    tree,
    accounts,
    'ManagerAccountCollection',
    () => bmc.kept.state.accounts.map(({ id }) => `${accounts}/${id}`),
    {
      needs: () => ['ConfigureUsers'],
      post: ({ body }) => {
        for (const name of ['UserName', 'Password', 'RoleId'])
          if (body[name] === undefined)
            throw new Refusal('PropertyMissing', [name], { related: name })
        const { state } = bmc.kept
        if (state.accounts.length >= MOST_ACCOUNTS)
          throw new Refusal('CreateLimitReachedForResource')
        const account: Account = {
          id: String(state.nextAccount),
          userName: checkedName(bmc, body.UserName),
          password: checkedPassword(body.Password),
          role: oneOf(body.RoleId, ROLES, 'RoleId'),
          isEnabled: body.Enabled === undefined ? true : aBoolean(body.Enabled, 'Enabled'),
          failures: 0,
          lockedUntil: 0,
        }
        bmc.kept.change(() => {
          state.nextAccount++
          state.accounts.push(account)
        })
        return {
          status: 201,
          body: accountDocument(bmc, account),
          headers: { Location: `${accounts}/${account.id}` },
        }
      },
    },
  )
  for (const account of bmc.kept.state.accounts) addAccount(tree, bmc, account)
}
