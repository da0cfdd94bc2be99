import { Yaml } from './DiffView.tsx'

interface YamlTextProps {
  text: string
  label: string
  className?: string | undefined
  lineClassName?: string | undefined
}

/**
 * A YAML document, line by line, with approximate highlighting. The box may scroll, so it can be
 * focused (WCAG 2.1.1).
 */
export const YamlText = ({ text, label, className, lineClassName }: YamlTextProps) => (
  <pre className={className} tabIndex={0} aria-label={label}>
    {text
      .replace(/\n$/, '')
      .split('\n')
      .map((line, i) => (
        <span key={i} className={lineClassName}>
          <Yaml text={line === '' ? '\u00a0' : line} />
        </span>
      ))}
  </pre>
)
