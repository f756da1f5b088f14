import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import UPlot from 'uplot'
import type { Chart, Measure, Step } from '@/domain/auditMetrics'
import { compact } from '@/domain/time'
import { usd } from '@/domain/usd'

/** Colour and dashes: no line is told by its colour alone. */
export const swatches: { colour: string; dash: number[] }[] = [
  { colour: '--blue', dash: [] },
  { colour: '--violet', dash: [6, 3] },
  { colour: '--cyan', dash: [2, 3] },
  { colour: '--amber', dash: [8, 3, 2, 3] },
  { colour: '--green', dash: [4, 2] },
  { colour: '--t3', dash: [1, 4] },
]

const height = 160

type Props = { name: Measure; chart: Chart; step: Step }

/** Drawn anew when data, language, theme or width change; it is small. */
export function Plot({ name, chart, step }: Props) {
  const { i18n } = useTranslation()
  const ref = useRef<HTMLDivElement>(null)
  const language = i18n.language
  useEffect(() => {
    const box = ref.current
    if (box === null) return
    let plot: UPlot | undefined
    const draw = () => {
      plot?.destroy()
      plot = new UPlot(options(box, { name, chart, step }, language), dataOf(chart), box)
    }
    draw()
    const resize = new ResizeObserver(() => plot?.setSize({ width: box.clientWidth, height }))
    resize.observe(box)
    const theme = new MutationObserver(draw)
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      resize.disconnect()
      theme.disconnect()
      plot?.destroy()
    }
  }, [name, chart, step, language])
  return <div ref={ref} aria-hidden className="overflow-hidden" style={{ height }} />
}

function dataOf(chart: Chart): UPlot.AlignedData {
  return [chart.at.map((at) => at.getTime() / 1000), ...chart.series.map((one) => one.values)]
}

function options(box: HTMLElement, { name, chart, step }: Props, language: string): UPlot.Options {
  const style = getComputedStyle(box)
  const colour = (token: string) => style.getPropertyValue(token).trim()
  const grid = { stroke: colour('--line'), width: 1 }
  const axis = { stroke: colour('--t3'), grid, ticks: grid, font: `11px ${style.fontFamily}` }
  const when = new Intl.DateTimeFormat(
    language,
    step === 'day' ? { month: 'numeric', day: 'numeric' } : { hour: 'numeric' },
  )
  const value = (n: number) => (name === 'cost' ? usd(n, language) : compact(n, language))
  const seconds = step === 'day' ? 86_400 : 3600
  // An axis without values still has marks that mean something.
  const least = name === 'cost' ? 1e9 : 1
  return {
    width: box.clientWidth,
    height,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : least] } },
    axes: [
      {
        ...axis,
        size: 28,
        incrs: [1, 2, 3, 6, 7, 14, 30, 90].map((times) => times * seconds),
        values: (_plot, splits) => splits.map((at) => when.format(new Date(at * 1000))),
      },
      {
        ...axis,
        size: 64,
        values: (_plot, splits) => splits.map((n) => (whole(name, n) ? value(n) : '')),
      },
    ],
    series: [
      {},
      ...chart.series.map((_, at): UPlot.Series => {
        const swatch = swatches[at % swatches.length]
        return {
          stroke: colour(swatch?.colour ?? '--blue'),
          dash: swatch?.dash ?? [],
          width: 2,
          points: { show: false },
        }
      }),
    ],
  }
}

/** There is no half call. */
function whole(name: Measure, n: number): boolean {
  return name === 'cost' || Number.isInteger(n)
}
