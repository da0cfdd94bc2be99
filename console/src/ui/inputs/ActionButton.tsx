import type { Action } from '../actions.ts'
import { Button, ButtonLink, type ButtonProps } from './Button.tsx'

type ActionButtonProps = Omit<Action, 'hint'> &
  Pick<ButtonProps, 'kind' | 'size' | 'busy' | 'busyText' | 'className' | 'aria-label'>

/**
 * The button of an action: a link if the action leads to a page, disabled with the reason if the
 * action is refused.
 */
export function ActionButton({
  label,
  icon,
  can,
  run,
  to,
  danger = false,
  busy,
  busyText,
  kind = danger ? 'danger' : 'plain',
  ...look
}: ActionButtonProps) {
  const shared = { ...look, kind, icon, children: label }
  return to !== undefined && can?.ok !== false ? (
    <ButtonLink {...shared} href={to} />
  ) : (
    <Button
      {...shared}
      can={can}
      onClick={() => void run?.()}
      {...(busy !== undefined && { busy })}
      {...(busyText !== undefined && { busyText })}
    />
  )
}
