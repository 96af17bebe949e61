# `snakemake` in this folder runs the workflow. One of your own uses workflow/Snakefile as a module:
# config/README.md.


include: "workflow/Snakefile"


workflow.default_target = DEFAULT_TARGET
